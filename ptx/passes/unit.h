// The state that the passes share: one kernel with the functions it reaches, the probes to splice, and the
// edits collected so far.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ptx/analysis/analyses.h"
#include "ptx/analysis/transfers/transfers.h"
#include "ptx/emitter/emitter.h"
#include "ptx/ir/memory_access.h"
#include "ptx/ir/module.h"
#include "ptx/passes/counting/counters.h"
#include "ptx/passes/counting/refinements.h"
#include "ptx/passes/memory/sites.h"
#include "ptx/passes/memory/word_runs.h"
#include "ptx/passes/memory/word_sites.h"
#include "ptx/passes/probes/routine.h"

namespace lynxpp::ptx {

/// Program points of probes. loop_iteration is at the start of the loop header, instruction before the
/// instruction, instruction_after after it.
enum class ProbePoint {
  kernel_entry,
  kernel_exit,
  block_entry,
  block_exit,
  function_entry,
  function_exit,
  loop_entry,
  loop_iteration,
  loop_exit,
  instruction,
  instruction_after
};

/// A routine's complete effect, if a pass can implement it more cheaply than by a copy at each site.
enum class ProbeEffect : std::uint8_t {
  any,
  /// Adds to tallies an amount determined by the active lanes, the access's size and kind, and the
  /// differences between the lanes' addresses in 4-byte words.
  measures_banks,
  /// Adds one to tallies in one lane per 32-byte sector that the active lanes access.
  measures_sectors,
  /// Counts the memory words of the access, `executions` times.
  counts_words
};

/// One handler of one specification.
struct Probe {
  ProbePoint point = ProbePoint::kernel_entry;
  bool is_initializer = false;                      ///< runs before all other kernel-entry probes
  std::function<bool(const Instruction&)> matches;  ///< selects the sites of instruction probes
  /// Returns the index in memory_accesses(instruction) of the probe's access. Null: always the first.
  std::function<std::uint32_t(const Instruction&)> access;
  /// Returns a site value, by name, that only the specification can compute.
  std::function<std::uint64_t(std::string_view, const Instruction&)> constant;
  ProbeRoutine routine;
  std::optional<ProbeRoutine> with_lane_values = {};  ///< a variant that uses precomputed lane values
  FirstOfSpecification first = {};
  std::vector<std::uint32_t> tallies = {};  ///< tallies that the routine adds to
  ProbeEffect effect = ProbeEffect::any;
  bool enabled = true;      ///< false: the probe has no sites
  std::uint64_t sites = 0;  ///< set by the splice pass

  std::uint32_t side_at(const Instruction& instruction) const { return access ? access(instruction) : 0; }
  /// Returns the probe's access, or nullopt if the instruction makes none.
  std::optional<MemoryAccess> access_at(const Instruction& instruction) const {
    const MemoryAccesses accesses = memory_accesses(instruction);
    const std::uint32_t side = side_at(instruction);
    return side < accesses.count ? std::optional(accesses.access[side]) : std::nullopt;
  }
};

/// A function of the variant. The kernel is the first element of ReachedFunctions::functions.
struct FunctionUnit {
  const Function* function = nullptr;  ///< with its body parsed
  /// Computed on demand. Because passes record edits and never change the module, results stay valid for the
  /// lifetime of the unit.
  std::shared_ptr<FunctionAnalyses> analyses;
  /// False: only the references to variables are rewritten, because the function's address is taken.
  bool instrumented = true;
  std::uint32_t first_block = 0;  ///< id of the function's block 0 in the variant
  std::uint32_t first_instruction = 0;

  const ControlFlowGraph& graph() const { return analyses->graph(); }
  /// True if the body ends after the block without an exit instruction.
  bool falls_off_behind(const BasicBlock& block) const {
    return block.leaves_function &&
           (block.size() == 0 || !function->body->instructions[block.end - 1].traits.ends_block());
  }
};

/// A variable of the variant that routines reference: shared memory of a thread block, or a table. Its name
/// is variable_name(position).
struct ModuleVariable {
  StateSpace space = StateSpace::shared;
  std::uint64_t bytes = 0;            ///< 0: no routine references it
  std::vector<std::uint8_t> initial;  ///< `bytes` elements, or empty; always empty for shared memory
  bool is_dynamic = false;            ///< starts at the base of dynamic shared memory and has no size
};

/// Selects the probes whose routines become functions (outline.h): routines of at least `instructions` PTX
/// instructions with at least `sites` sites. If `instructions` is 0, every site calls a function, even where
/// an inlined copy would run faster.
struct OutlineRule {
  std::uint32_t instructions = 64;
  std::uint32_t sites = 64;
};

/// Registers of a function that are live from its entry to its exits.
struct ThreadRegisters {
  std::vector<VirtualRegister> states;   ///< by index in state_bytes
  std::optional<VirtualRegister> frame;  ///< the frame's address, if functions have a frame
};

struct CountPlan;     // ptx/passes/counting/plan.h
struct CountRequest;  // ptx/passes/counting/demand.h

/// Options that the caller chooses for the variant.
struct VariantOptions {
  LaunchShape launch;  ///< the launches that the variant is for
  OutlineRule outline;
  std::set<Refinement> without;  ///< disabled counting refinements
  /// True if ptxas assembles the variant: ptxas contracts a multiplication and an addition without rounding
  /// modifiers into one fma. The cpu device does not.
  bool assembler_contracts = true;
};

/// The functions of a kernel's variant.
struct ReachedFunctions {
  std::vector<FunctionUnit> functions;                          ///< kernel first; append with add()
  std::unordered_map<std::string_view, std::size_t> positions;  ///< in `functions`, by name
  bool calls_indirectly = false;                                ///< some function calls through a register
  std::vector<std::string> address_taken;  ///< functions and kernels named outside of calls
  std::vector<std::string> undefined;      ///< functions that are called but only declared
  std::uint32_t basic_blocks = 0;
  std::uint32_t instructions = 0;
  Transfers transfers;  ///< empty: not requested

  const FunctionUnit& kernel() const { return functions.front(); }
  std::vector<std::reference_wrapper<const FunctionUnit>> instrumented() const {
    std::vector<std::reference_wrapper<const FunctionUnit>> found;
    std::ranges::copy_if(functions, std::back_inserter(found), &FunctionUnit::instrumented);
    return found;
  }
  std::uint32_t position_of(const FunctionUnit& function) const {
    return static_cast<std::uint32_t>(&function - functions.data());
  }
  void add(FunctionUnit function) {
    positions.try_emplace(function.function->name, functions.size());
    functions.push_back(std::move(function));
  }
  const FunctionUnit* find(std::string_view name) const {
    const auto found = positions.find(name);
    return found == positions.end() ? nullptr : &functions[found->second];
  }
};

/// The counters, one per 4-byte memory word, to which a routine adds. The routine has no other effect. All
/// `*_word` members are parameter slots.
struct CountedWords {
  std::uint32_t array_word = 0;  ///< address of the counters in device memory
  std::uint32_t element_bytes = 4;
  bool is_shared = false;  ///< counts shared memory instead of device memory
  /// Device memory: the address range whose counters are contiguous. `margin_bytes` / 4 further counters
  /// precede them, and the same number follows.
  std::uint32_t begin_word = 0, bytes_word = 0;
  std::uint64_t margin_bytes = 0;
  /// Shared memory: the number of counters.
  std::uint32_t extent_word = 0;
  /// From BlockCounters::arrays: 32-bit counters in shared memory to which the routine adds instead, unless
  /// they have a window.
  std::optional<std::uint32_t> block_offset_word = {};
  /// Device memory: the address of the run records (probes/words/word_run_sites.h); the next slot is their
  /// capacity. nullopt: runs are not recorded.
  std::optional<std::uint32_t> runs_word = {};
};

/// The code and data that specifications add to the variant.
struct SplicedCode {
  std::vector<Probe> probes;
  RoutineFunctions routine_functions;      ///< functions that routines call
  std::vector<ModuleVariable> variables;   ///< variables of the probes, declared in the variant
  std::vector<std::uint32_t> state_bytes;  ///< size of each state register: 4 or 8
  std::uint32_t words = 0;                 ///< number of parameter slots
  /// By position in `probes`: probes that a counter of the access's own instruction can replace
  /// (probes/words/word_counters.h).
  std::map<std::size_t, CountedWords> counted_words;
  /// Returns the value of `access_space` for a state space. Null: not requested.
  std::function<std::uint32_t(StateSpace)> space_code;
  /// Routines that compute a lane value, by its name.
  std::map<std::string, ProbeRoutine, std::less<>> lane_routines;
};

/// Properties of the module that contains the variant.
struct VariantModule {
  Version version;
  Target target;
  /// Variables of the program that stay in the original module, with their addresses. The variant declares
  /// all others.
  std::map<std::string, std::uint64_t, std::less<>> shared_variables;
};

struct InstrumentationUnit;

/// How the kernel is counted.
struct KernelCounting {
  /// Returns the counts to collect. Called once the measured accesses (MemorySites) are known. Null: no
  /// counts.
  std::function<CountRequest(InstrumentationUnit&)> demand;
  bool is_wide = false;                   ///< 64-bit registers; assumes nothing about index ranges
  std::shared_ptr<const CountPlan> plan;  ///< null: no edge counters
  /// By position in CountPlan::functions; empty before the count pass.
  std::vector<CounterRegisters> registers;
  std::uint32_t word = 0;  ///< parameter slot with the address of the plan's slots
};

/// Shared variables of the program whose addresses the variant stores, 8 bytes each, at the address in
/// parameter slot `word`.
struct SharedAddresses {
  struct Place {
    std::string name;
    const Function* function = nullptr;  ///< resolves the name: its declaring function, else the kernel
  };
  std::vector<Place> variables;  ///< empty: not requested
  std::uint32_t word = 0;
};

/// Word counters in each block's shared memory, after the program's own variables: a header with the number
/// of threads that have exited, then each array's counters.
struct BlockCounters {
  static constexpr std::uint32_t header_bytes = 16;
  struct Array {
    /// Parameter slot: the counters' offset from the base of dynamic shared memory.
    std::uint32_t offset_word = 0;
    std::uint32_t array_word = 0;  ///< parameter slot: the array in device memory
    bool is_wide = false;          ///< 64-bit elements
  };
  std::vector<Array> arrays;  ///< empty: no counters in shared memory
  std::uint32_t bits = 32;
  std::uint32_t variable = 0;     ///< in SplicedCode::variables
  std::uint32_t extent_word = 0;  ///< parameter slot: the number of counters of each array
  /// Restricts the counters to the `window_bytes` of shared memory (a multiple of 16) that start at the
  /// lowest of these kernel variables, rounded down to 16. Empty: counts all shared memory.
  std::vector<std::string_view> window;
  std::uint32_t window_bytes = 0;
};

/// How memory words are counted.
struct WordPlan {
  /// Fills in the following members and removes accesses that need no probe from SplicedCode::probes. Null:
  /// no specification counts words.
  std::function<void(InstrumentationUnit&)> demand;
  SharedAddresses shared;
  BlockCounters block;
  WordSites sites;           ///< word-counting probes that need not count at each execution
  WordRuns runs;             ///< accesses counted after their loop, by SplicedCode::counted_words
  LoopRecords loop_records;  ///< runs that have a record slot of their own
};

/// A kernel while its variant is being built. The members are in the order in which they are set: by the
/// engine, by the planning passes, by the passes that add code.
struct InstrumentationUnit {
  explicit InstrumentationUnit(const Module& m, const LaunchShape& launch = {})
      : module(m), options{launch, {}, {}, true} {}

  const Module& module;
  VariantOptions options;
  ReachedFunctions reached;
  SplicedCode spliced;
  VariantModule variant;
  MemorySites memory;
  KernelCounting counting;
  WordPlan words;
  EditList edits;
  std::vector<std::string> notes;

  /// True if device functions receive the parameter slots and the state through a frame in the caller's local
  /// memory.
  bool needs_frame() const {
    if (spliced.words == 0 && spliced.state_bytes.empty()) return false;
    for (std::size_t i = 1; i < reached.functions.size(); ++i) {
      if (reached.functions[i].instrumented) return true;
    }
    return false;
  }
  std::uint32_t frame_state_offset(std::uint32_t state) const { return 8 * (spliced.words + state); }
  std::uint32_t frame_bytes() const {
    return frame_state_offset(static_cast<std::uint32_t>(spliced.state_bytes.size()));
  }
  /// Returns the registers of a function with a body. Requires final `state_bytes` and `words`.
  const ThreadRegisters& thread_registers(const Function& function);

 private:
  std::map<const Function*, ThreadRegisters> thread_registers_;
};

/// Returns the callee of a direct call, resolving aliases; empty for an indirect call.
std::string_view direct_callee(const Module& module, const Instruction& call);

}  // namespace lynxpp::ptx
