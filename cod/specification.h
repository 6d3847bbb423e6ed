// C-on-Demand: compiles a specification (.cod text) for the splice pass and the report.
//
//   parse + analyse  ▶ Specification (targets, filters, storage, per-thread state; keeps the AST)
//   lower_device     ▶ one PTX routine per handler (LLVM O2, NVPTX)
//   compile_host     ▶ ON_REPORT as native code, through LLVM ORC
//
// No ANTLR or LLVM type leaves cod/*.cpp. All objects are immutable after creation and thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cod/site_table.h"
#include "cod/trace_stream.h"
#include "cod/word_scheme.h"
#include "ptx/ir/opcode.h"
#include "support/name_pattern.h"
#include "support/result.h"

namespace lynxpp::cod {

// ---------------------------------------------------------------- instrumentation points

/// loop_iteration: at the start of the loop header, including the first iteration. instruction: before the
/// instruction. instruction_after: after it, for the lanes that executed it.
enum class TargetKind {
  kernel_entry,
  kernel_exit,
  basic_block_entry,
  basic_block_exit,
  function_entry,
  function_exit,
  loop_entry,
  loop_iteration,
  loop_exit,
  instruction,
  instruction_after
};
std::string_view name_of(TargetKind target);  ///< the target's label, "ON_KERNEL_ENTRY"
constexpr bool is_instruction(TargetKind target) { return target >= TargetKind::instruction; }
constexpr bool is_at_loop(TargetKind target) {
  return target >= TargetKind::loop_entry && target <= TargetKind::loop_exit;
}

/// Instruction classes of a filter; bits of InstructionFilter::classes.
enum InstructionClass : std::uint32_t {
  mem_read = 1u << 0,
  mem_write = 1u << 1,
  call = 1u << 2,
  branch = 1u << 3,
  barrier = 1u << 4,
  atomic = 1u << 5,
  arithmetic = 1u << 6,
  predicated = 1u << 7,
  async_copy = 1u << 8,  ///< copies between state spaces, completed by a group or a barrier
  bulk = 1u << 9,        ///< the number of bytes that each lane copies is an operand
  unsized = 1u << 10,    ///< neither the opcode nor an operand determines the number of bytes
};
enum AddressSpace : std::uint32_t {
  space_global = 1u << 0,
  space_local = 1u << 1,
  space_shared = 1u << 2,
  space_const = 1u << 3,
  space_param = 1u << 4,
  space_texture = 1u << 5,
  space_generic = 1u << 6,
};
enum DataKind : std::uint32_t { integer = 1u << 0, floating_point = 1u << 1 };
/// Directions of transfers between device memory and shared memory (ptx/analysis/transfers).
enum TransferKind : std::uint32_t { transfer_in = 1u << 0, transfer_out = 1u << 1 };

/// Bits of one kind are alternatives; kinds are combined with "and". A kind without bits does not restrict.
struct InstructionFilter {
  std::uint32_t classes = 0;
  std::uint32_t spaces = 0;
  std::uint32_t data = 0;
  std::uint32_t transfers = 0;

  bool matches(const InstructionLabels& labels) const;
  bool matches(const ptx::OpcodeTraits& traits, bool guarded) const {
    return matches(labels_of(traits, guarded));
  }
  /// Returns which operand of a copy the filter selects: its source (0), else its destination (1); 0 for any
  /// other selected instruction. nullopt if the filter does not select it.
  std::optional<std::uint32_t> choose(const LabelSets& labels) const;

  std::vector<std::string> opcodes;    ///< patterns with * and ? for the whole opcode; one must match
  std::vector<ptx::DataType> results;  ///< types of the result (ptx::result_type); one must match
  struct SourceLines {
    std::string file;  ///< trailing path components: "kernel.cu", "src/kernel.cu"
    std::uint32_t first = 0;
    std::uint32_t last = 0;
  };
  std::vector<SourceLines> sources;  ///< one must match
  /// Patterns for the callee's name, mangled or demangled; one must match.
  std::vector<NamePattern> call_targets;

  bool matches_opcode(std::string_view opcode) const;
  /// `callee` is null if the instruction does not call, or calls through a pointer.
  bool matches_callee(const std::string* callee) const;
  /// `file` is null if the instruction's source location is unknown.
  bool matches_source(const std::string* file, std::uint32_t line) const;
};

// ---------------------------------------------------------------- storage

/// shared_words: 4-byte words of a thread block's shared memory. device_words: 4-byte words of the device
/// memory that the program has allocated. lynx: of Lynx's untyped globalMem, see value_of().
enum class Extent {
  constant,
  basic_blocks,
  instructions,
  blocks,
  warps,
  threads,
  sms,
  lanes,
  shared_words,
  device_words,
  lynx
};

struct Dimension {
  Extent extent = Extent::constant;
  std::uint64_t constant = 1;
  std::string name;  ///< as written: "BASIC_BLOCKS", "4"
};

/// Scalar types of the language, identical on device and host.
enum class ScalarType { i8, u8, i16, u16, i32, u32, i64, u64, f32, f64 };
std::uint32_t size_of(ScalarType type);

/// `global unsigned long counts[THREADS];` Without dimensions it has one element. Elements are zero when a
/// launch begins, except those that set_initial_values() writes.
struct GlobalArray {
  std::string name;
  ScalarType type = ScalarType::u64;
  std::vector<Dimension> dimensions;
  bool is_hidden = false;                  ///< belongs to a trace, histogram or map; not a result by itself
  std::vector<std::uint8_t> initial = {};  ///< bytes of the first elements
  bool fills = false;                      ///< `initial` is one element, the initial value of all
  bool counts_words = false;               ///< countWords() adds to it
};

/// A variable that the instrumented variant declares for the handlers, which refer to it as
/// `__lynxpp_memory_<index>`: a `shared` array, one per thread block with undefined initial contents, or a
/// constant table in the global state space.
struct ModuleVariable {
  std::string name;
  bool is_shared = true;
  std::uint64_t bytes = 0;            ///< 0 if no handler needs it
  std::vector<std::uint8_t> initial;  ///< tables: `bytes` bytes
};

/// An access to an array element in a handler.
struct CheckedAccess {
  std::string array;
  SourceLocation location;
};

/// A 64-bit parameter slot of the instrumented kernel, which a handler reads as `__lynxpp_word_<index>`.
struct Word {
  enum class Kind {
    array_address,  ///< device address of arrays()[index]
    extent,         ///< value of `extent` for the launch
    /// Address of 64-bit counts of out-of-bounds accesses: first of all accesses not listed in
    /// checked_accesses(), then one per entry of it.
    dropped,
    word_map,  ///< address map for DEVICE_WORDS: WordMap::word(index)
    /// Byte offset in dynamic shared memory of the counters that replace arrays()[index]
    /// (WordScheme::shared_bits); 0 if they do not exist.
    shared_counters,
    allocations,  ///< address of allocation_table()
  };
  Kind kind = Kind::array_address;
  std::uint32_t index = 0;
  Extent extent = Extent::constant;
};

/// A per-thread variable at file scope, held in the register `__lynxpp_state_<index>`. Zero before its
/// initialiser runs.
struct StateVariable {
  std::string name;
  ScalarType type = ScalarType::u64;
};

// ---------------------------------------------------------------- device code

/// Names that a handler's PTX may contain as an operand of `mov`; the splice pass replaces each at every
/// site. `<name>` is one of site_value_names().
///   mov.b64 %rd1, __lynxpp_word_3;         parameter slot (u64)
///   mov.b64 %rd1, __lynxpp_state_0;        read of a state register: b32 for types up to 32 bits, else b64;
///                                          f32 and f64 likewise by size
///   mov.b64 __lynxpp_state_0, %rd1;        write
///   mov.b64 %rd1, __lynxpp_memory_0;       address of a module variable in its own state space
///   mov.b32 %r1, __lynxpp_site_<name>;     a site value; u32, or u64 if is_wide(value)
inline constexpr std::string_view handler_function = "lynxpp_handler";
inline constexpr std::string_view word_prefix = "__lynxpp_word_";
inline constexpr std::string_view state_prefix = "__lynxpp_state_";
inline constexpr std::string_view site_prefix = "__lynxpp_site_";
inline constexpr std::string_view memory_prefix = "__lynxpp_memory_";

enum class SiteValue {
  basic_block_id,  ///< index of the block in the kernel and its callees, 0-based
  basic_block_count,
  basic_block_instruction_count,  ///< instructions of the block
  /// Instructions that are not guarded or whose guard held, counted by this thread in this execution of the
  /// block.
  basic_block_executed_instruction_count,
  basic_block_predicated_instruction_count,  ///< guarded instructions of the block
  instruction_id,  ///< index of the instruction in the kernel and its callees, 0-based
  instruction_count,
  function_id,     ///< index of the function's first block
  loop_id,         ///< index of the loop header; basic_block_count outside loops
  loop_depth,      ///< 0 outside loops
  loop_trips,      ///< times that the thread has executed the header since it entered the loop, u64
  is_back_edge,    ///< 1 if the branch may take a back edge of an enclosing loop
  memory_address,  ///< address of this access with offset, u64 (instruction targets, as all that follow)
  access_size,     ///< bytes that this thread accesses; in a register if DeviceTarget::has_lane_sizes
  access_kind,     ///< 0 read, 1 write, 2 atomic
  is_of_lanes,     ///< 1 if sectors and banks follow from the lanes' addresses and access_size
  branch_target,   ///< target of a branch for this lane; one number per target block
  access_space,    ///< bit of AddressSpace; for a generic access, the space that its address is in
  bulk_size,       ///< bytes of a bulk copy, u64; 0 for all other instructions
  vector_width,    ///< elements per thread
  source_line,     ///< 0 if unknown
  ptx_line,        ///< of the original module
  source_id,       ///< first_of_groups() with SiteGrouping::source_line; the following values likewise
  source_file_id,
  opcode_id,
  call_target_id,
  instruction_is,  ///< 1 if the filter matches; the parameter is the packed filter
  loaded_value,    ///< bits of element <parameter> that was read, u64 (after the instruction)
  stored_value,    ///< bits of element <parameter> to be written, u64
  operand_value,   ///< bits of operand <parameter>, in source order from 0, u64
  result_value,    ///< bits of result element <parameter>, u64 (after the instruction)
  // Hoisted results about the differences between the lanes' addresses (lower_lane_value):
  sector_threshold,     ///< the lane is first in its sector if its address modulo 32 is below this
  hoisted_banks,        ///< bankConflicts() + 65536 * bankGroupsSpared() of this access
  bank_lanes,           ///< lanes that conflict with this one at a bank; 0 in all lanes if none do
  banks_of_some_lanes,  ///< hoisted_banks, computed at the access from bank_lanes
  lane_result,          ///< the register that a routine for one of these four values writes
  predicate_value,      ///< 1 if the instruction is not guarded or its guard holds
  executions,           ///< executions of the access that one run of the routine represents; 1 except with
                        ///< WordScheme::Analysis::invariants
};
std::string_view name_of(SiteValue value);  ///< "basic_block_id"
bool is_wide(SiteValue value);
/// A value with a parameter is named "<name>_<parameter>": "operand_value_2".
bool has_parameter(SiteValue value);
/// "instruction_is_17" ▶ the filter that it tests; nullopt for other values.
std::optional<InstructionFilter> filter_of_value(std::string_view name);

/// One index of a counted element.
struct CounterIndex {
  enum class Kind : std::uint8_t { constant, basic_block, instruction };
  Kind kind = Kind::constant;
  std::uint64_t constant = 0;
};

/// A statement that only adds to an array at every execution of its handler's sites. It has no device code:
/// the engine counts executions of each site and fills the array before ON_REPORT runs.
struct SiteCounter {
  enum class Addend : std::uint8_t {
    constant,
    instructions,  ///< basicBlockInstructionCount()
    guarded,       ///< basicBlockPredicatedInstructionCount()
    executed,      ///< basicBlockExecutedInstructionCount()
    access_size,   ///< accessSize()
    bank_groups,   ///< bankGroups()
  };
  std::uint32_t handler = 0;          ///< in Specification::handlers(): determines the sites
  std::uint32_t array = 0;            ///< in Specification::arrays()
  std::vector<CounterIndex> indices;  ///< one per dimension, in range
  bool counts_warps = false;          ///< once per warp instead of once per thread
  bool counts_divisions = false;      ///< only executions of a `bra` at which the warp diverges
  Addend addend = Addend::constant;
  std::uint64_t constant = 1;
  SourceLocation location;  ///< of the statement
};

/// Measures every n-th launch, thread block and warp: those whose index is divisible by n. Counts are never
/// scaled up.
struct Sampling {
  std::uint32_t launches = 1;
  std::uint32_t blocks = 1;
  std::uint32_t warps = 1;
  bool operator==(const Sampling&) const = default;
};
/// "1 of 4 launches, 1 of 16 thread blocks"; empty if everything is measured.
std::string describe(const Sampling& sampling);
struct HandlerSampling {
  std::uint32_t line = 0;  ///< of the handler's label
  Sampling sampling;
};
/// The sparsest sampling of each kind.
Sampling rarest(const std::vector<HandlerSampling>& handlers);
/// True if all handlers measure the same thread blocks and warps.
bool are_sampled_equally(const std::vector<HandlerSampling>& handlers);
/// If all handlers sample equally: as above. Otherwise "1 of 4 launches; handler of line 3: 1 of 16 thread
/// blocks; handler of line 7: all".
std::string describe(const std::vector<HandlerSampling>& handlers);

/// A statement that adds an unsigned value, computed on the device, to an element that the site determines.
/// The routine adds to the registers named by the site values `tally_<index>` and, if an addend may exceed 1,
/// `tally_high_<index>`, which counts wrap-arounds of the first. The engine fills the array before ON_REPORT
/// runs. With DeviceTarget::wide_counters only the first exists and has 64 bits.
struct Tally {
  std::uint32_t handler = 0;          ///< in Specification::handlers(): determines the instructions
  std::uint32_t array = 0;            ///< in Specification::arrays()
  std::vector<CounterIndex> indices;  ///< one per dimension, in range
  bool adds_one = false;              ///< always adds 1
  /// Adds bankConflicts() or bankGroupsSpared(): each addition is at most 31 and follows more than 31
  /// instructions. The register cannot wrap in fewer than 2^32 cycles, so it needs no second one.
  bool is_paced = false;
  bool is_wide_only = false;  ///< adds 0 at accesses of up to 4 bytes
};
inline constexpr std::string_view tally_value = "tally_";
inline constexpr std::string_view high_tally_value = "tally_high_";

struct Handler {
  /// The only kind of work that a handler's code does.
  enum class Measures : std::uint8_t {
    anything,
    /// Adds to tallies values that depend only on the active lanes, the size and kind of the access, and the
    /// differences between the lanes' addresses, for accesses of at least 4 bytes.
    banks,
    sectors  ///< adds one to tallies if firstInSector() is 1
  };
  TargetKind target = TargetKind::kernel_entry;
  InstructionFilter filter;            ///< of instruction targets
  bool is_initializer = false;         ///< initialises state variables; runs before all other entry handlers
  SourceLocation location;             ///< of the target label
  std::vector<SiteValue> site_values;  ///< those that its code reads
  bool uses_state = false;
  bool needs_convergence = false;  ///< uses warp votes, shuffles or syncWarp
  /// Has shorter code if differences between the lanes' addresses are known: DeviceTarget::lane_values.
  bool can_use_lane_values = false;
  /// A kernel-exit handler with syncThreads(): only for kernels in which all threads of a block exit
  /// together.
  bool syncs_at_exit = false;
  Measures measures = Measures::anything;
  /// Indices in Specification::arrays(). If not empty, the handler only calls countWords() on these arrays,
  /// and nothing is spliced where the engine computes the addresses itself.
  std::vector<std::uint32_t> counted_words;
  /// True if all its code is counters: nothing is spliced unless they are lowered as well
  /// (DeviceTarget::plain_counters).
  bool is_counted = false;
  /// Regular expressions; one must match the kernel's name, mangled or demangled. Empty: all kernels.
  std::vector<NamePattern> kernels;

  bool wants_kernel(const std::string& mangled_name) const;
};

/// PTX of one handler: a module with the `.func` handler_function, without parameters, whose body is spliced,
/// and the functions that it calls, which a variant contains once and which do not read site values. The body
/// ends with a single `ret;` or contains several; each ends the handler.
struct HandlerCode {
  std::string ptx;
};

struct DeviceTarget {
  int sm = 75;  ///< the code may use features of this compute capability, such as redux.sync from 80
  bool plain_counters = false;  ///< lowers counters() and tallies() like all other statements
  bool wide_counters = false;   ///< registers of tallies() have 64 bits
  /// Lowers only handlers with can_use_lane_values, to code that reads sector_threshold and the values after
  /// it.
  bool lane_values = false;
  /// Scheme of countWords(). Routines that sample keep their position in the random sequence in one more
  /// 32-bit state register after those of state(). Routines with counters in shared memory use one more
  /// variable after those of variables(), the start of dynamic shared memory.
  WordScheme words = {};
  bool streams_traces = false;  ///< the code streams entries if StreamControl enables it
  bool has_lane_sizes = false;  ///< true if access_size may differ between lanes
};

struct DeviceCode {
  /// One per Specification::handlers(), in the same order; empty if the handler is counted.
  std::vector<HandlerCode> handlers;
  int minimum_sm = 0;   ///< the lowest `.target` that the code needs (70 match, 80 redux)
  int minimum_ptx = 0;  ///< the lowest `.version` × 10 that the code needs (62 activemask, 70 redux)
};

/// Returns the routine that computes one of the four site values about differences between the lanes'
/// addresses. It reads memory_address, which may be offset by any amount that is the same in all active
/// lanes. Values about banks also read access_size and access_kind; banks_of_some_lanes reads bank_lanes,
/// too. It writes lane_result. All lanes of the access run it together. bank_lanes may be computed by a
/// superset of those lanes, except for loads of more than 4 bytes, whose lane groups depend on the active
/// lanes. Results are cached per compute capability.
Result<HandlerCode> lower_lane_value(SiteValue value, int sm);

// ---------------------------------------------------------------- host code

/// How values of a result are combined across launches, if the result determines it.
enum class Folding : std::uint8_t {
  by_name,
  sum,
  mean,
  least,
  greatest,
  same,   ///< not a quantity
  key,    ///< a column that identifies the rows of its table
  first,  ///< the first launch's value
  last,
  concatenate,  ///< table rows, launch after launch
};

/// One result of a launch, with a unique name. `values` is in row-major order of `dimensions`; without
/// dimensions it is one number.
struct Emitted {
  std::string name;
  std::vector<std::uint64_t> dimensions;
  std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::uint64_t>> values;
  std::string unit;
  std::vector<std::string> dimension_names = {};  ///< as declared: "BASIC_BLOCKS", "4"; one per dimension
  /// Columns of one table have the same `table` and the same length; their `name` is "TABLE.COLUMN".
  std::string table = {};
  /// Histogram: bin k of the last dimension covers values from bounds[k] up to but excluding bounds[k + 1].
  std::vector<std::int64_t> bounds = {};
  /// Counts of values below the first bin and above the last one, for each index of all dimensions but the
  /// last.
  std::vector<std::uint64_t> underflow = {};
  std::vector<std::uint64_t> overflow = {};
  std::vector<std::string> labels = {};  ///< of the first dimension's indices; empty: the index itself
  std::vector<std::string> texts = {};   ///< column: text of each value, or empty
  /// Ratio: its denominators; `values` are the numerators.
  std::optional<std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::uint64_t>>>
      denominators = {};
  Folding folding = Folding::by_name;
  std::uint64_t left_out = 0;  ///< column: rows of the table that are omitted here
};

/// An array of the program in memory whose words are counted.
struct MemoryArray {
  std::string name;         ///< PTX symbol, "dynamic", or a name that distinguishes allocations
  std::uint64_t first = 0;  ///< its first element in arrays with the extent SHARED_WORDS or DEVICE_WORDS
  std::uint64_t words = 0;
};

/// The address of a program array at a launch.
struct PlacedArray {
  std::string name;           ///< same as MemoryArray::name
  std::uint64_t address = 0;  ///< shared memory: in the shared window
  std::uint64_t bytes = 0;
  bool is_shared = false;
  std::uint64_t id = 0;  ///< device memory: result of allocationId()
};

/// The data of one launch that ON_REPORT can access. Pointers are borrowed for the call.
struct LaunchView {
  std::string_view kernel;
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::uint64_t basic_blocks = 0;
  std::uint64_t instructions = 0;
  std::uint64_t sms = 0;
  std::uint32_t clock_khz = 0;  ///< SM clock, 0 if unknown
  std::string_view device;      ///< its name
  std::uint32_t multiprocessors = 0;
  std::uint32_t compute_capability = 0;  ///< × 10
  std::uint64_t launch = 0;              ///< index of this launch of the kernel
  std::uint64_t shared_words = 0;        ///< LaunchExtents::shared_words
  std::uint64_t device_words = 0;
  std::vector<MemoryArray> shared_arrays, device_arrays;  ///< arrays that own the words
  std::vector<PlacedArray> placed_arrays;  ///< if lists_arrays(): shared arrays, then all of device memory
  /// Host variables, of the size of HostReport::initial_state(). Empty: this report uses its own, which are
  /// discarded.
  std::span<std::byte> host;
  const SiteTable* sites = nullptr;  ///< null if instructions are unknown
  /// Contents of Specification::arrays(), in the same order; ON_REPORT may modify them.
  std::vector<std::span<std::byte>> arrays;
  std::function<void(Emitted)> emit;            ///< receives emit(…)
  std::function<void(std::string_view)> print;  ///< receives print(…)
};

class HostReport {
 public:
  virtual ~HostReport() = default;
  /// Runs ON_REPORT once. Out-of-bounds reads of arrays yield 0 and are reported as a failure.
  virtual Status run(const LaunchView& launch) const = 0;

  /// Initial contents of LaunchView::host. The owner of the attached specification keeps it across launches.
  virtual std::vector<std::byte> initial_state() const = 0;
  /// ON_END: runs once, after the last report. Uses only `host`, `emit` and `print` of the view.
  virtual bool has_end() const = 0;
  virtual Status end(const LaunchView& view) const = 0;
};

// ---------------------------------------------------------------- the specification

class Specification {
 public:
  virtual ~Specification() = default;

  virtual const std::string& name() const = 0;     ///< file name without folder and ".cod"
  virtual const std::string& summary() const = 0;  ///< the first comment line of the file
  virtual const std::string& source() const = 0;
  virtual const std::vector<Handler>& handlers() const = 0;
  /// The sparsest sampling among the handlers; all have the same sampling of launches.
  virtual Sampling sampling() const = 0;
  /// Sampling of the handlers for a kernel (mangled; empty: any), in order, without initialisers.
  virtual std::vector<HandlerSampling> samplings(const std::string& kernel) const = 0;
  virtual const std::vector<GlobalArray>& arrays() const = 0;
  virtual const std::vector<StateVariable>& state() const = 0;
  virtual const std::vector<Word>& words() const = 0;
  virtual const std::vector<ModuleVariable>& variables() const = 0;
  virtual const std::vector<SiteCounter>& counters() const = 0;
  virtual const std::vector<Tally>& tallies() const = 0;
  virtual const std::vector<CheckedAccess>& checked_accesses() const = 0;
  /// Traces that can be streamed: one-dimensional, with at least least_streamed_entries entries, and not read
  /// by device code.
  virtual const std::vector<TraceStream>& streams() const = 0;
  /// True if it queries the program's arrays: LaunchView::placed_arrays.
  virtual bool lists_arrays() const = 0;
  /// True if a table that it emits has a column of addresses, judged by the column's name.
  virtual bool emits_addresses() const = 0;
  /// True if a filter or query uses transfer labels.
  virtual bool asks_for_transfers() const = 0;

  virtual Result<DeviceCode> lower_device(const DeviceTarget& target) const = 0;

  /// Compiles ON_REPORT to native code. Without an ON_REPORT, the report emits every array under its own
  /// name.
  virtual Result<std::shared_ptr<const HostReport>> compile_host() const = 0;
};

/// `name` is the file's path for diagnostics. Fails with all errors found, each with a location. Warnings of
/// a successful compilation are appended to `warnings` unless it is null.
Result<std::shared_ptr<const Specification>> compile(std::string source, const std::string& name,
                                                     Diagnostics* warnings = nullptr);

/// The values of all extents for a launch.
struct LaunchExtents {
  std::uint64_t basic_blocks = 0;
  std::uint64_t instructions = 0;
  std::uint64_t blocks = 0;
  std::uint64_t warps = 0;  ///< blocks × ceil(threads per block / 32)
  std::uint64_t threads = 0;
  std::uint64_t sms = 0;  ///< an upper bound of %smid + 1
  std::uint64_t shared_words = 0;
  std::uint64_t device_words = 0;
};
std::uint64_t value_of(const Dimension& dimension, const LaunchExtents& extents);
/// Number of elements of the array; 0 if the product does not fit 64 bits.
std::uint64_t element_count(const GlobalArray& array, const LaunchExtents& extents);
/// Size of the prefix of an array of `bytes` bytes that is not zero when a launch begins.
std::uint64_t initial_bytes(const GlobalArray& array, std::uint64_t bytes);
/// Writes the initial values. Precondition: `elements` has at least initial_bytes() bytes, all zero.
void set_initial_values(const GlobalArray& array, std::span<std::byte> elements);
/// True if the array has the extent SHARED_WORDS or DEVICE_WORDS: its elements correspond to memory words.
bool is_of_words(const GlobalArray& array);

}  // namespace lynxpp::cod
