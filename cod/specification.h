// C-on-Demand: a specification (.cod text) ▶ what the splice pass and the report need.
//
//   parse + analyse  ▶ Specification (targets, filters, storage, per-thread state; AST kept inside)
//   lower_device     ▶ one PTX routine per handler (LLVM O2, NVPTX)
//   compile_host     ▶ the ON_REPORT part, native code through LLVM ORC
//
// No ANTLR or LLVM type leaves cod/*.cpp. Everything here is immutable after creation and thread safe.
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

// ---------------------------------------------------------------- where a handler goes

/// loop_iteration: where the loop's first block begins, the first time included; instruction: before it;
/// instruction_after: behind it, for the lanes that executed it
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
std::string_view name_of(TargetKind target);  ///< its label, "ON_KERNEL_ENTRY"
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
  bulk = 1u << 9,        ///< an operand gives the number of bytes that one lane copies
  unsized = 1u << 10,    ///< neither opcode nor operands give the number of bytes
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
/// Ends of transfers between device memory and shared memory (ptx/analysis/transfers).
enum TransferKind : std::uint32_t { transfer_in = 1u << 0, transfer_out = 1u << 1 };

/// Within a kind the bits add up, between kinds they narrow; a kind without a bit does not narrow.
struct InstructionFilter {
  std::uint32_t classes = 0;
  std::uint32_t spaces = 0;
  std::uint32_t data = 0;
  std::uint32_t transfers = 0;

  bool matches(const InstructionLabels& labels) const;
  bool matches(const ptx::OpcodeTraits& traits, bool guarded) const {
    return matches(labels_of(traits, guarded));
  }
  /// Which side of a copy the filter chooses, its source (0) before its destination (1); of other
  /// instructions 0. Null: none.
  std::optional<std::uint32_t> choose(const LabelSets& labels) const;

  std::vector<std::string> opcodes;    ///< patterns with * and ? for the whole opcode; one has to fit
  std::vector<ptx::DataType> results;  ///< of what the instruction writes (ptx::result_type); one has to fit
  struct SourceLines {
    std::string file;  ///< the end of the path, whole components: "kernel.cu", "src/kernel.cu"
    std::uint32_t first = 0;
    std::uint32_t last = 0;
  };
  std::vector<SourceLines> sources;  ///< one has to fit
  /// one has to be found in the name, mangled or not, of the function called
  std::vector<NamePattern> call_targets;

  bool matches_opcode(std::string_view opcode) const;
  /// `callee` is null when the instruction calls nothing, or calls through a pointer.
  bool matches_callee(const std::string* callee) const;
  /// `file` is null when the instruction's place is not known.
  bool matches_source(const std::string* file, std::uint32_t line) const;
};

// ---------------------------------------------------------------- storage

/// shared_words, device_words: 4-byte words of a thread block's shared memory, of the device memory that the
/// program has allocated; lynx: of Lynx's untyped globalMem, see value_of().
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

/// Scalar types of the language, on device and host alike.
enum class ScalarType { i8, u8, i16, u16, i32, u32, i64, u64, f32, f64 };
std::uint32_t size_of(ScalarType type);

/// `global unsigned long counts[THREADS];` No dimension: one element. Zero when a launch begins, but for what
/// set_initial_values() writes.
struct GlobalArray {
  std::string name;
  ScalarType type = ScalarType::u64;
  std::vector<Dimension> dimensions;
  bool is_hidden = false;  ///< belongs to a trace, histogram or map and is no result by itself
  std::vector<std::uint8_t> initial = {};  ///< bytes of the first elements
  bool fills = false;                      ///< … of one element, which all begin with
  bool counts_words = false;               ///< countWords() adds to it
};

/// Memory that the variant declares for the handlers, which name it `__lynxpp_memory_<index>`: a `shared`
/// array, one for each thread block and with undefined contents at first, or a constant table in the global
/// state space.
struct ModuleVariable {
  std::string name;
  bool is_shared = true;
  std::uint64_t bytes = 0;            ///< 0: no handler needs it
  std::vector<std::uint8_t> initial;  ///< of tables: `bytes` of them
};

/// A place in a handler where an element of an array is accessed, if there is one of that number.
struct CheckedAccess {
  std::string array;
  SourceLocation location;
};

/// A 64-bit word of the hidden kernel parameter, which a handler reads as `__lynxpp_word_<index>`.
struct Word {
  enum class Kind {
    array_address,  ///< device address of arrays()[index]
    extent,         ///< value of `extent` for the launch
    /// Address of 64-bit counts of accesses out of bounds: that of all others, and one for each of
    /// checked_accesses().
    dropped,
    word_map,  ///< what leads from an address to its element: WordMap::word(index)
    /// Bytes from the beginning of dynamic shared memory to the counters that stand for arrays()[index] there
    /// (WordScheme::shared_bits); 0 where there are none.
    shared_counters,
    allocations,  ///< address of what allocation_table() gives
  };
  Kind kind = Kind::array_address;
  std::uint32_t index = 0;
  Extent extent = Extent::constant;
};

/// A per-thread variable at file scope. Lives in the register `__lynxpp_state_<index>`; zero before the
/// initialiser runs.
struct StateVariable {
  std::string name;
  ScalarType type = ScalarType::u64;
};

// ---------------------------------------------------------------- device code

/// Names a handler's PTX may contain as an operand of `mov`; the splice pass replaces each for every site.
/// `<name>` stands for one of site_value_names().
///   mov.b64 %rd1, __lynxpp_word_3;         the word (u64)
///   mov.b64 %rd1, __lynxpp_state_0;        read of a state register: b32 for types up to 32 bits, b64
///                                          else; f32 and f64 likewise by size
///   mov.b64 __lynxpp_state_0, %rd1;        write
///   mov.b64 %rd1, __lynxpp_memory_0;       address of a module variable in its own state space
///   mov.b32 %r1, __lynxpp_site_<name>;     a site value; u32, or u64 when is_wide(value)
inline constexpr std::string_view handler_function = "lynxpp_handler";
inline constexpr std::string_view word_prefix = "__lynxpp_word_";
inline constexpr std::string_view state_prefix = "__lynxpp_state_";
inline constexpr std::string_view site_prefix = "__lynxpp_site_";
inline constexpr std::string_view memory_prefix = "__lynxpp_memory_";

enum class SiteValue {
  basic_block_id,  ///< index of the block in the kernel and what it calls, from 0
  basic_block_count,
  basic_block_instruction_count,  ///< instructions of the block
  /// those whose guard held, counted by this thread in this pass through the block
  basic_block_executed_instruction_count,
  basic_block_predicated_instruction_count,  ///< guarded instructions of the block
  instruction_id,  ///< index of the instruction in the kernel and what it calls, from 0
  instruction_count,
  function_id,     ///< index of the function's first block
  loop_id,         ///< index of the first block of the loop; outside of loops basic_block_count
  loop_depth,      ///< 0: in no loop
  loop_trips,      ///< how often the thread has begun the loop's first block since it entered the loop, u64
  is_back_edge,    ///< 1 when the branch may lead back to the first block of a loop that it is in
  memory_address,  ///< address of this access with its offset, u64 (instruction targets, as all that follow)
  access_size,     ///< bytes this thread accesses; in a register if DeviceTarget::has_lane_sizes
  access_kind,     ///< 0 reads memory, 1 writes it, 2 is atomic
  is_of_lanes,     ///< 1 if sectors and banks follow from the lanes' addresses and access_size
  branch_target,   ///< of a branch: where this lane goes; the same number for the same block
  access_space,    ///< bit of AddressSpace; of a generic access the space its address leads to
  bulk_size,       ///< bytes of a bulk copy, u64; 0 of all else
  vector_width,    ///< elements per thread
  source_line,     ///< 0: not known
  ptx_line,        ///< of the original module
  source_id,       ///< first_of_groups() of SiteGrouping::source_line, and so on
  source_file_id,
  opcode_id,
  call_target_id,
  instruction_is,  ///< 1 when a filter fits; the parameter is the filter, packed
  loaded_value,    ///< bits of element <parameter> that was read, u64 (behind the instruction)
  stored_value,    ///< bits of element <parameter> that is written, u64
  operand_value,   ///< bits of operand <parameter>, as written from 0, u64
  result_value,    ///< bits of element <parameter> of what was written, u64 (behind the instruction)
  // What the lanes have found out about the differences of their addresses before (lower_lane_value):
  sector_threshold,     ///< the lane is the first in its sector when its address modulo 32 is less than this
  hoisted_banks,        ///< of this access bankConflicts() + 65536 * bankGroupsSpared()
  bank_lanes,           ///< lanes that would meet this one at a bank; 0 in all lanes: none do
  banks_of_some_lanes,  ///< hoisted_banks, found out at the access from bank_lanes
  lane_result,          ///< a register that the routine of one of these four writes
  predicate_value,      ///< 1 when the instruction's guard holds or it has none
  executions,           ///< how many executions of the access the routine stands for; 1 but with
                        ///< WordScheme::Analysis::invariants
};
std::string_view name_of(SiteValue value);  ///< "basic_block_id"
bool is_wide(SiteValue value);
/// Those with a parameter are named "<name>_<parameter>": "operand_value_2".
bool has_parameter(SiteValue value);
/// "instruction_is_17" ▶ the filter that is asked about; null for other values.
std::optional<InstructionFilter> filter_of_value(std::string_view name);

/// One index of a counted element.
struct CounterIndex {
  enum class Kind : std::uint8_t { constant, basic_block, instruction };
  Kind kind = Kind::constant;
  std::uint64_t constant = 0;
};

/// A statement that adds to an array for every execution of its handler's places and does nothing else. There
/// is no device code for it: the engine finds out how often each place was executed and fills the array
/// before ON_REPORT runs.
struct SiteCounter {
  enum class Addend : std::uint8_t {
    constant,
    instructions,  ///< basicBlockInstructionCount()
    guarded,       ///< basicBlockPredicatedInstructionCount()
    executed,      ///< basicBlockExecutedInstructionCount()
    access_size,   ///< accessSize()
    bank_groups,   ///< bankGroups()
  };
  std::uint32_t handler = 0;          ///< in Specification::handlers(): which places
  std::uint32_t array = 0;            ///< in Specification::arrays()
  std::vector<CounterIndex> indices;  ///< one for each dimension, in range
  bool counts_warps = false;          ///< once per warp instead of once per thread
  bool counts_divisions = false;      ///< … of those executions of a `bra` that divide the warp
  Addend addend = Addend::constant;
  std::uint64_t constant = 1;
  SourceLocation location;  ///< of the statement
};

/// Of so many launches, thread blocks and warps one is measured: those whose number is divisible by it.
/// Numbers are never scaled up.
struct Sampling {
  std::uint32_t launches = 1;
  std::uint32_t blocks = 1;
  std::uint32_t warps = 1;
  bool operator==(const Sampling&) const = default;
};
/// "1 of 4 launches, 1 of 16 thread blocks"; empty when everything is measured.
std::string describe(const Sampling& sampling);
struct HandlerSampling {
  std::uint32_t line = 0;  ///< of the handler's label
  Sampling sampling;
};
/// The rarest of each.
Sampling rarest(const std::vector<HandlerSampling>& handlers);
/// Whether all measure the same thread blocks and warps.
bool are_sampled_equally(const std::vector<HandlerSampling>& handlers);
/// The same for all: as above. Else "1 of 4 launches; handler of line 3: 1 of 16 thread blocks; handler of
/// line 7: all".
std::string describe(const std::vector<HandlerSampling>& handlers);

/// A statement that adds an unsigned number, found out on the device, to an element that its place tells. The
/// routine adds to the registers which the site values `tally_<index>` and, where a number may be greater
/// than 1, `tally_high_<index>` name; the engine fills the array before ON_REPORT runs. The second register
/// counts how often the first has wrapped around. With DeviceTarget::wide_counters there is only the first,
/// of 64 bits.
struct Tally {
  std::uint32_t handler = 0;          ///< in Specification::handlers(): which instructions
  std::uint32_t array = 0;            ///< in Specification::arrays()
  std::vector<CounterIndex> indices;  ///< one for each dimension, in range
  bool adds_one = false;              ///< each time
  /// Adds what bankConflicts() or bankGroupsSpared() gives: at most 31 behind more than 31 instructions, so
  /// that the register cannot wrap in fewer than 2^32 cycles and needs no second one.
  bool is_paced = false;
  bool is_wide_only = false;  ///< adds nothing at accesses of up to 4 bytes
};
inline constexpr std::string_view tally_value = "tally_";
inline constexpr std::string_view high_tally_value = "tally_high_";

struct Handler {
  /// What all of its code does.
  enum class Measures : std::uint8_t {
    anything,
    /// Adds to tallies numbers that follow from which lanes are active, the size and kind of the access and
    /// the differences between the lanes' addresses, for accesses of 4 bytes and more.
    banks,
    sectors  ///< adds one to tallies where firstInSector() is 1
  };
  TargetKind target = TargetKind::kernel_entry;
  InstructionFilter filter;     ///< of instruction targets
  bool is_initializer = false;  ///< initialisers of state variables: runs before all other entry handlers
  SourceLocation location;      ///< of the target label
  std::vector<SiteValue> site_values;  ///< which ones its code reads
  bool uses_state = false;
  bool needs_convergence = false;  ///< uses warp votes, shuffles or syncWarp
  /// Has shorter code where differences of the lanes' addresses are known: DeviceTarget::lane_values.
  bool can_use_lane_values = false;
  /// A kernel-exit handler with syncThreads(): only for kernels that all threads of a block leave together.
  bool syncs_at_exit = false;
  Measures measures = Measures::anything;
  /// All its code is countWords() of these arrays: there is nothing to splice where the engine finds the
  /// addresses out by itself. In Specification::arrays().
  std::vector<std::uint32_t> counted_words;
  /// All its code is counters: nothing to splice, unless they are lowered as well
  /// (DeviceTarget::plain_counters).
  bool is_counted = false;
  /// Regular expressions; the handler is for kernels whose name, mangled or not, one of them finds. None: for
  /// all.
  std::vector<NamePattern> kernels;

  bool wants_kernel(const std::string& mangled_name) const;
};

/// PTX of one handler: the text of a module with the `.func` handler_function, without parameters, whose body
/// is to be spliced, and the functions that it calls, which stand once in a variant and know nothing of
/// sites. The body falls to a single `ret;` at its end or has several; each means "end of handler".
struct HandlerCode {
  std::string ptx;
};

struct DeviceTarget {
  int sm = 75;  ///< the code may use what this compute capability has, e.g. redux.sync from 80
  bool plain_counters = false;  ///< counters() and tallies() become code like all other statements
  bool wide_counters = false;   ///< registers of tallies() have 64 bits
  /// Only handlers that can_use_lane_values are lowered, to code that reads sector_threshold and its kin.
  bool lane_values = false;
  /// Of countWords(). Routines that sample keep their place in the random sequence in one more state register
  /// of 32 bits behind those of state(); those with counters in shared memory name one more variable behind
  /// those of variables(), which is where dynamic shared memory begins.
  WordScheme words = {};
  bool streams_traces = false;  ///< the code streams entries where StreamControl says so
  bool has_lane_sizes = false;  ///< true if access_size may differ between lanes
};

struct DeviceCode {
  /// One per Specification::handlers(), same order; empty where the handler is counted.
  std::vector<HandlerCode> handlers;
  int minimum_sm = 0;   ///< the least `.target` the code needs (70 match, 80 redux)
  int minimum_ptx = 0;  ///< the least `.version` × 10 (62 activemask, 70 redux)
};

/// The routine that finds out a site value of the four that lanes tell of their addresses' differences. It
/// reads memory_address, which may be the address or anything that differs from it by the same number in all
/// active lanes, and of those about banks access_size and access_kind; banks_of_some_lanes also reads
/// bank_lanes. It writes lane_result. All lanes that make the access run it together; bank_lanes may be found
/// out by more, not for loads of more than 4 bytes, whose groups of lanes depend on which are there. Kept for
/// each compute capability.
Result<HandlerCode> lower_lane_value(SiteValue value, int sm);

// ---------------------------------------------------------------- host code

/// How launches' values of a result become one, where the result says so itself.
enum class Folding : std::uint8_t {
  by_name,
  sum,
  mean,
  least,
  greatest,
  same,   ///< no amount
  key,    ///< of a column that names the rows of its table
  first,  ///< of the first launch
  last,
  concatenate,  ///< rows of a table, one launch's behind the other's
};

/// One result of a launch; their names differ. `values` in row-major order of `dimensions`; no dimension: a
/// number.
struct Emitted {
  std::string name;
  std::vector<std::uint64_t> dimensions;
  std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::uint64_t>> values;
  std::string unit;
  std::vector<std::string> dimension_names = {};  ///< as declared: "BASIC_BLOCKS", "4"; for each dimension
  /// Columns of one table, all of one length, have the same `table`; their `name` is "TABLE.COLUMN".
  std::string table = {};
  /// Histogram: bin k of the last dimension is for values from bounds[k] up to, not including, bounds[k + 1].
  std::vector<std::int64_t> bounds = {};
  /// Values below the first bin and beyond the last one, one each for every index of the dimensions before
  /// the last.
  std::vector<std::uint64_t> underflow = {};
  std::vector<std::uint64_t> overflow = {};
  std::vector<std::string> labels = {};  ///< of the indices of the first dimension; none: their numbers
  std::vector<std::string> texts = {};   ///< column: what its values stand for, as many; or none
  /// Of a ratio, whose `values` are its numerators.
  std::optional<std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::uint64_t>>>
      denominators = {};
  Folding folding = Folding::by_name;
  std::uint64_t left_out = 0;  ///< column: so many rows of the table are not here
};

/// An array of the program in memory whose words are counted.
struct MemoryArray {
  std::string name;         ///< PTX symbol, "dynamic", or what tells an allocation from others
  std::uint64_t first = 0;  ///< element of arrays with the extent SHARED_WORDS or DEVICE_WORDS
  std::uint64_t words = 0;
};

/// Where an array of the program lies when a launch is made.
struct PlacedArray {
  std::string name;           ///< as MemoryArray's
  std::uint64_t address = 0;  ///< of shared memory: in its own window
  std::uint64_t bytes = 0;
  bool is_shared = false;
  std::uint64_t id = 0;  ///< of device memory: what allocationId() gives
};

/// What ON_REPORT sees of one launch. Pointers are borrowed for the call.
struct LaunchView {
  std::string_view kernel;
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::uint64_t basic_blocks = 0;
  std::uint64_t instructions = 0;
  std::uint64_t sms = 0;
  std::uint32_t clock_khz = 0;  ///< SM clock, 0 when unknown
  std::string_view device;      ///< its name
  std::uint32_t multiprocessors = 0;
  std::uint32_t compute_capability = 0;  ///< × 10
  std::uint64_t launch = 0;              ///< number of this launch of the kernel
  std::uint64_t shared_words = 0;        ///< LaunchExtents::shared_words
  std::uint64_t device_words = 0;
  std::vector<MemoryArray> shared_arrays, device_arrays;  ///< whose words these are
  std::vector<PlacedArray> placed_arrays;  ///< where lists_arrays(): shared ones, then all of device memory
  /// The host's variables, of HostReport::initial_state()'s size; empty: this report has its own that nobody
  /// sees later.
  std::span<std::byte> host;
  const SiteTable* sites = nullptr;  ///< null: nothing is known of the instructions
  /// contents of Specification::arrays(), same order; ON_REPORT may change them
  std::vector<std::span<std::byte>> arrays;
  std::function<void(Emitted)> emit;            ///< receives emit(…)
  std::function<void(std::string_view)> print;  ///< receives print(…)
};

class HostReport {
 public:
  virtual ~HostReport() = default;
  /// Runs ON_REPORT once. Out-of-bounds reads of arrays yield 0 and are reported in the failure.
  virtual Status run(const LaunchView& launch) const = 0;

  /// What LaunchView::host holds before the first report. Whoever attaches a specification keeps it from
  /// launch to launch.
  virtual std::vector<std::byte> initial_state() const = 0;
  /// ON_END: once, behind the last report. Reads `host`, calls `emit` and `print`; nothing else of the view.
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
  /// The rarest sampling among the handlers; that of launches is the same for all.
  virtual Sampling sampling() const = 0;
  /// Of the handlers for a kernel, mangled (empty: for any), in their order, without initialisers.
  virtual std::vector<HandlerSampling> samplings(const std::string& kernel) const = 0;
  virtual const std::vector<GlobalArray>& arrays() const = 0;
  virtual const std::vector<StateVariable>& state() const = 0;
  virtual const std::vector<Word>& words() const = 0;
  virtual const std::vector<ModuleVariable>& variables() const = 0;
  virtual const std::vector<SiteCounter>& counters() const = 0;
  virtual const std::vector<Tally>& tallies() const = 0;
  virtual const std::vector<CheckedAccess>& checked_accesses() const = 0;
  /// Those that can be streamed: of one dimension and not too few entries, of which device code names none.
  virtual const std::vector<TraceStream>& streams() const = 0;
  /// Whether it asks where the program's arrays are: LaunchView::placed_arrays.
  virtual bool lists_arrays() const = 0;
  /// Whether tables that it emits have a column of addresses, by its name.
  virtual bool emits_addresses() const = 0;
  /// Whether some filter asks which instructions transfer.
  virtual bool asks_for_transfers() const = 0;

  virtual Result<DeviceCode> lower_device(const DeviceTarget& target) const = 0;

  /// Native code of ON_REPORT. Without an ON_REPORT the report emits every array under its own name.
  virtual Result<std::shared_ptr<const HostReport>> compile_host() const = 0;
};

/// `name` is the file's path for diagnostics. Failure: every error found, each with a place. Warnings of a
/// successful compilation are appended to `warnings` when it is not null.
Result<std::shared_ptr<const Specification>> compile(std::string source, const std::string& name,
                                                     Diagnostics* warnings = nullptr);

/// The value of an extent for a launch.
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
/// Elements of the array; 0 when the product does not fit 64 bits.
std::uint64_t element_count(const GlobalArray& array, const LaunchExtents& extents);
/// Bytes at the beginning of an array of `bytes` bytes that are not zero when a launch begins.
std::uint64_t initial_bytes(const GlobalArray& array, std::uint64_t bytes);
/// Writes them. Precondition: `elements` has at least so many bytes, and holds zeros.
void set_initial_values(const GlobalArray& array, std::span<std::byte> elements);
/// Whether an extent is SHARED_WORDS or DEVICE_WORDS: elements stand for words of memory.
bool is_of_words(const GlobalArray& array);

}  // namespace lynxpp::cod
