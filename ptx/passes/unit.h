// What the passes work on: one kernel with everything it reaches, the probes to splice, and the edits
// collected so far.
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

/// loop_iteration: where the loop's header begins; instruction: before it; instruction_after: after it
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

/// A routine's complete effect, if the passes can implement it better than by copying it to each site.
enum class ProbeEffect : std::uint8_t {
  any,
  /// Adds to tallies what follows from the lanes that are active, the access's size and kind, and the
  /// differences between the lanes' addresses in whole words.
  measures_banks,
  /// Adds one to tallies in one lane of each sector of 32 bytes that the active lanes access.
  measures_sectors,
  /// Counts the words of the access, `executions` times.
  counts_words
};

/// One handler of one specification.
struct Probe {
  ProbePoint point = ProbePoint::kernel_entry;
  bool is_initializer = false;                      ///< runs before all other kernel-entry probes
  std::function<bool(const Instruction&)> matches;  ///< instruction probes: which ones
  /// Which of memory_accesses(instruction) the probe is about; null: the first one.
  std::function<std::uint32_t(const Instruction&)> access;
  /// Values of a site that only the specification can tell, by name.
  std::function<std::uint64_t(std::string_view, const Instruction&)> constant;
  ProbeRoutine routine;
  std::optional<ProbeRoutine> with_lane_values = {};  ///< the same, with values that the lanes know already
  FirstOfSpecification first = {};
  std::vector<std::uint32_t> tallies = {};  ///< numbers of the tallies that the routine adds to
  ProbeEffect effect = ProbeEffect::any;
  bool enabled = true;      ///< false: has no sites
  std::uint64_t sites = 0;  ///< filled in by the splice pass

  std::uint32_t side_at(const Instruction& instruction) const { return access ? access(instruction) : 0; }
  /// The access that the probe is about; nothing where the instruction makes none.
  std::optional<MemoryAccess> access_at(const Instruction& instruction) const {
    const MemoryAccesses accesses = memory_accesses(instruction);
    const std::uint32_t side = side_at(instruction);
    return side < accesses.count ? std::optional(accesses.access[side]) : std::nullopt;
  }
};

/// A function of the variant. The kernel is the first of ReachedFunctions::functions.
struct FunctionUnit {
  const Function* function = nullptr;  ///< body parsed
  /// Each computed when it is first asked for. Passes record edits and never change the module, so all of
  /// them hold as long as the unit does.
  std::shared_ptr<FunctionAnalyses> analyses;
  /// false: only its references to variables are rewritten (its address is taken)
  bool instrumented = true;
  std::uint32_t first_block = 0;  ///< id of its block 0 in the variant
  std::uint32_t first_instruction = 0;

  const ControlFlowGraph& graph() const { return analyses->graph(); }
  /// Whether the body ends after the block, without an instruction that exits.
  bool falls_off_behind(const BasicBlock& block) const {
    return block.leaves_function &&
           (block.size() == 0 || !function->body->instructions[block.end - 1].traits.ends_block());
  }
};

/// A variable of the variant that routines name: shared memory of a thread block, or a table. Its name is
/// variable_name(position).
struct ModuleVariable {
  StateSpace space = StateSpace::shared;
  std::uint64_t bytes = 0;            ///< 0: no routine names it
  std::vector<std::uint8_t> initial;  ///< `bytes` of them, or none; shared memory has none
  bool is_dynamic = false;            ///< it begins where dynamic shared memory does, and has no size
};

/// Which probes' routines become functions (outline.h): those that put at least `instructions` PTX
/// instructions at each of at least `sites` sites. 0 instructions: every site, also where a copy would run
/// faster.
struct OutlineRule {
  std::uint32_t instructions = 64;
  std::uint32_t sites = 64;
};

/// Registers of a function that live from its entry to its exits.
struct ThreadRegisters {
  std::vector<VirtualRegister> states;   ///< by index in state_bytes
  std::optional<VirtualRegister> frame;  ///< the frame's address, where functions have one
};

struct CountPlan;     // ptx/passes/counting/plan.h
struct CountRequest;  // ptx/passes/counting/demand.h

/// Chosen by the caller that makes the variant.
struct VariantOptions {
  LaunchShape launch;  ///< of the launches that the variant is for
  OutlineRule outline;
  std::set<Refinement> without;  ///< refinements of counting that are left out
  /// The variant is assembled by ptxas, which fuses products and sums that name no rounding; the cpu device
  /// does not.
  bool assembler_contracts = true;
};

/// The functions of a kernel's variant.
struct ReachedFunctions {
  std::vector<FunctionUnit> functions;                          ///< the kernel first; added by add()
  std::unordered_map<std::string_view, std::size_t> positions;  ///< in `functions`, by name
  bool calls_indirectly = false;                                ///< some function calls through a register
  std::vector<std::string> address_taken;  ///< functions and kernels that the code names other than in a call
  std::vector<std::string> undefined;      ///< functions that are called but only declared
  std::uint32_t basic_blocks = 0;
  std::uint32_t instructions = 0;
  Transfers transfers;  ///< empty: not asked for

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

/// The counts, one for each 4-byte word, that a routine adds to. It does nothing else. Words are those of the
/// hidden parameter.
struct CountedWords {
  std::uint32_t array_word = 0;  ///< where the counts are, in device memory
  std::uint32_t element_bytes = 4;
  bool is_shared = false;  ///< of shared memory; else of device memory
  /// Device memory: a stretch of it whose counts follow one another, after `margin_bytes` / 4 others, and
  /// before as many.
  std::uint32_t begin_word = 0, bytes_word = 0;
  std::uint64_t margin_bytes = 0;
  /// Shared memory: how many counts there are.
  std::uint32_t extent_word = 0;
  /// Of BlockCounters::arrays: counters of 32 bits in shared memory, to which the routine adds instead,
  /// unless they have a window.
  std::optional<std::uint32_t> block_offset_word = {};
  /// Device memory: where runs are recorded (probes/words/word_run_sites.h), and in the word after it for how
  /// many there is room. Nothing: there are none.
  std::optional<std::uint32_t> runs_word = {};
};

/// What the specifications put into the variant.
struct SplicedCode {
  std::vector<Probe> probes;
  RoutineFunctions routine_functions;      ///< those that routines call
  std::vector<ModuleVariable> variables;   ///< of the probes, declared in the variant
  std::vector<std::uint32_t> state_bytes;  ///< per state register: 4 or 8
  std::uint32_t words = 0;                 ///< of the hidden parameter
  /// By position in `probes`: of those that an access's own code can stand for
  /// (probes/words/word_counters.h).
  std::map<std::size_t, CountedWords> counted_words;
  /// What the value access_space says of a state space. Null: not asked for.
  std::function<std::uint32_t(StateSpace)> space_code;
  /// that compute a lane value, by its name
  std::map<std::string, ProbeRoutine, std::less<>> lane_routines;
};

/// The module that the variant becomes.
struct VariantModule {
  Version version;
  Target target;
  /// Variables of the program that live in the original module, by address. All others are declared in the
  /// variant.
  std::map<std::string, std::uint64_t, std::less<>> shared_variables;
};

struct InstrumentationUnit;

/// How the kernel is counted.
struct KernelCounting {
  /// What is to be counted, asked when it is known where accesses are measured (MemorySites). Null: nothing.
  std::function<CountRequest(InstrumentationUnit&)> demand;
  bool is_wide = false;                   ///< registers of 64 bits, and nothing is assumed about indices
  std::shared_ptr<const CountPlan> plan;  ///< null: nothing is counted on edges
  /// By position in CountPlan::functions; empty before the count pass.
  std::vector<CounterRegisters> registers;
  std::uint32_t word = 0;  ///< of the hidden parameter: the address of the plan's slots
};

/// Shared variables of the program whose addresses the variant stores where a word of the hidden parameter
/// says, 8 bytes each.
struct SharedAddresses {
  struct Place {
    std::string name;
    const Function* function = nullptr;  ///< the kernel, which names it or the module's, or whose own it is
  };
  std::vector<Place> variables;  ///< empty: not asked for
  std::uint32_t word = 0;
};

/// Counters of words that lie in each block's shared memory, after the program's: a header with how many
/// threads have exited, then the counters of each array.
struct BlockCounters {
  static constexpr std::uint32_t header_bytes = 16;
  struct Array {
    /// Of the hidden parameter: where its counters begin, from dynamic memory.
    std::uint32_t offset_word = 0;
    std::uint32_t array_word = 0;  ///< …: the array in device memory
    bool is_wide = false;          ///< whose elements have 64 bits
  };
  std::vector<Array> arrays;  ///< empty: there are none
  std::uint32_t bits = 32;
  std::uint32_t variable = 0;     ///< in SplicedCode::variables
  std::uint32_t extent_word = 0;  ///< of the hidden parameter: how many counters each array has
  /// Counters only for the stretch of shared memory that begins where the lowest of these variables of the
  /// kernel does, rounded down to 16: `window_bytes`, a multiple of 16. None: for all of it.
  std::vector<std::string_view> window;
  std::uint32_t window_bytes = 0;
};

/// How words of memory are counted.
struct WordPlan {
  /// Chooses all that follows, and takes accesses that need no probe out of SplicedCode::probes. Null: no
  /// specification counts words.
  std::function<void(InstrumentationUnit&)> demand;
  SharedAddresses shared;
  BlockCounters block;
  WordSites sites;           ///< of probes that count words: where they need not do so each time
  WordRuns runs;             ///< of accesses that are counted after their loop, by SplicedCode::counted_words
  LoopRecords loop_records;  ///< of those runs that have a place
};

/// A kernel while its variant is made. Members in the order in which they are filled in: by the engine, by
/// the planning passes, by those that add code.
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

  /// Device functions get the hidden words and the state through a frame in the caller's local memory.
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
  /// Those of one function, which has a body. Not before state_bytes and words are known.
  const ThreadRegisters& thread_registers(const Function& function);

 private:
  std::map<const Function*, ThreadRegisters> thread_registers_;
};

/// The name of the function that a direct call leads to, through an alias too; empty for an indirect one.
std::string_view direct_callee(const Module& module, const Instruction& call);

}  // namespace lynxpp::ptx
