// Records that lynxpp writes, of launches, coverage and more, and the sinks that receive them.
//
// JSON Lines (LYNXPP_OUTPUT), one object per line:
//   {"record":"process","process":…,"host":…,"pid":N,"rank":N,"program":…,"command":[…],"begin_us":N,
//    "format":2}
//   {"record":"series",…} and {"record":"launch",…}: see report/series.h. A complete launch record is
//   {"record":"launch","process":…,"kernel":…,"demangled":…,"launch":0,"device":…,
//    "grid":[x,y,z],"block":[x,y,z],"spec":…,
//    "results":{name: number | {"value":…,"numerator":…,"denominator":…}
//                     | {"extents":[…],"names":["BASIC_BLOCKS",…],"values":[…]}}, "sites":N,
//    "sampling":{"launches":N,"blocks":N,"warps":N}, "modelled":{"machine":…,"seconds":…, …}, …,
//    "allocations":[{"name":"#3","caller":…,"address":N,"bytes":N},…],
//    "place":{"correlation":N,"ordinal":N,"context":N,"stream":N,"module":…,"thread":N,  (english: ok)
//             "begin_us":N,"end_us":N}}
//   {"record":"total","spec":…,"results":{…},…}
//   {"record":"coverage","kernel":…,"demangled":…,"instrumented":bool,"reason":…,"launches":N,
//    "sites":N, "notes":[…], "ptx_from":…, "lacks_ptx":true,
//    "shape":{"grid":[x,y,z],"block":[x,y,z],"differs":bool,"registers":N}}
//   {"record":"sites","kernel":…,"demangled":…,"table":N,"functions":[…],"opcodes":[…],
//    "files":[…],"labels":[["MEM_READ",…],…],
//    "blocks":{"function":[…],"first":[…],"instructions":[…]},
//    "instructions":{"block":[…],"opcode":[…],"labels":[…],"ptx_line":[…],"file":[…],"line":[…]},
//    "ptx":[{"line":N,"text":…},…]}
//   {"record":"device","device":…,"ordinal":N,"uuid":…,"compute_capability":90,"multiprocessors":N,…}
//   {"record":"trial","kernel":…,"demangled":…,"module":…,"device":…,"grid":[x,y,z],"block":[x,y,z],
//    "shared_bytes":N,"perturbation":…,"sites":[{"ptx_line":N,"file":…,"line":N,"opcode":…,"note":…},…],
//    "ms":[…],"is_modelled":bool,"registers":N,"spill_bytes":N,"blocks_per_sm":N,"launches":N,"replays":N,
//    "note":…}
//   {"record":"activity","order":N,"stream":N,"host_ms":…,"ranges":[…], and one of
//    "launch":{"kernel":…,"launch":N,…} "copy":{"bytes":N,…} "wait":{}}
// Every record of a process names it by "process", twelve hexadecimal digits that no other process has. The
// process's own record comes first; a device's record precedes the first launch on it.
// Activities are written only with LYNXPP_TIMELINE: the program's operations in the order of its calls.
// "ranges" are those that the launching thread was in (docs/quality.md), outermost first; launch records have
// them, too.
// "sites" describes the elements of results with the extents BASIC_BLOCKS and INSTRUCTIONS: columns with one
// element per basic block and per instruction, in the order of basicBlockId() and instructionId().
// "function", "opcode", "labels" and "file" are indices into the lists of these names; an unknown file is
// null, its line 0. The record precedes the first launch with such results. The launch's "sites" is the
// "table" of its kernel; a kernel whose variants have the same instructions has one table, number 0. "ptx" is
// the original text of its functions.
// "sampling" is present if not everything was measured: one in N was, and nothing was scaled up. "launch" is
// the index, from 0, among the kernel's launches on this device and in this module made while attached.
// "shared":{"launches":N,"last":N} is present if N launches share the record: results are their sums, and
// "launch" and "place" are those of the first.  (english: ok)
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "support/descriptor.h"

namespace lynxpp::report {

using Values = std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::uint64_t>>;

/// How the values of several launches are combined.
enum class Fold {
  sum,
  mean,
  minimum,
  maximum,
  ratio,  ///< sum of the numerators over sum of the denominators
  same,   ///< not a quantity (an address, an ID): the value if it is the same in all launches
  key,    ///< same, for a column that names the rows of its table
  first,  ///< of the first launch that has it
  last,
  concatenate,  ///< rows of a table stay separate by launch
};

/// A result of a record; names are unique within the record.
struct ResultValue {
  std::string name;
  std::vector<std::uint64_t> extents;  ///< empty: a number
  Values values;                       ///< a ratio: its numerators
  std::string unit;
  std::vector<std::string> extent_names = {};  ///< as declared: "BASIC_BLOCKS", "4"; one per extent, or none
  std::string table = {};  ///< for a column of this table, whose name `name` begins with: "TABLE.COLUMN"
  /// Histogram: bin k of the last extent counts values from bounds[k] up to, not including, bounds[k + 1].
  /// Values below and above all bins are counted per index of the extents before the last.
  std::vector<std::int64_t> bounds = {};
  std::vector<std::uint64_t> underflow = {};
  std::vector<std::uint64_t> overflow = {};
  std::vector<std::string> labels = {};  ///< names of the first extent's indices; empty: unnamed
  std::vector<std::string> texts = {};   ///< column: one text per value, which represents it; or none
  /// Ratio: one per value; where it is 0, the ratio is undefined.
  std::optional<Values> denominators = {};
  std::optional<Fold> fold = {};               ///< nullopt: derived from name and unit (report/totals.h)
  std::optional<std::uint64_t> left_out = {};  ///< column: number of the table's last rows that are omitted
};

/// Labels of the rows of tables, by table. Tables without labels are missing.
using TableLabels = std::map<std::string, std::vector<std::string>>;

/// Returns the labels of each table's first column that has any.
TableLabels labels_of_tables(const std::vector<ResultValue>& results);

/// Resources that a launch's thread block uses, and those of a multiprocessor.
struct LaunchResources {
  struct Multiprocessor {
    std::uint64_t threads = 0;
    std::uint64_t blocks = 0;
    std::uint64_t registers = 0;              ///< 0: not limiting
    std::uint64_t shared_bytes = 0;           ///< of all resident blocks
    std::uint64_t shared_unit = 1;            ///< allocation unit of a block, in bytes
    std::uint64_t reserved_shared_bytes = 0;  ///< bytes that each block uses in addition
    std::uint64_t block_shared_bytes = 0;     ///< limit of one block
  };
  std::uint64_t registers = 0;             ///< per thread; 0: unknown
  std::uint64_t static_shared_bytes = 0;   ///< per thread block
  std::uint64_t dynamic_shared_bytes = 0;  ///< as launched
  Multiprocessor multiprocessor;
};

/// The launch's modelled, not measured, time on `machine`.
struct ModelledTime {
  struct Cache {
    std::uint64_t hits = 0, misses = 0;  ///< of sectors
  };
  std::string machine;
  double cycles = 0, seconds = 0;
  std::uint64_t blocks_per_sm = 0, warps_per_sm = 0;
  std::vector<std::uint64_t> partitions;  ///< memory transactions per partition
  std::optional<Cache> l1 = {}, l2 = {};
};

/// A process that wrote records.
struct ProcessRecord {
  std::string process;    ///< 12 hexadecimal digits; all its records name it
  std::string host = {};  ///< empty: unknown, as below
  std::uint64_t pid = 0;
  std::optional<std::uint64_t> rank = {};  ///< of an MPI program
  std::string program = {};                ///< path of the executable
  std::vector<std::string> command = {};   ///< its arguments, the first one as it was called
  std::uint64_t begin_us = 0;              ///< microseconds since 1970, shortly before the first record
  std::string file = {};                   ///< the merged file whose records name no process; else empty
  std::uint64_t format = 0;                ///< 2: launch records belong to series; 0: they are complete
};

/// The location and time of a launch. Times are of the host's clock, in microseconds since 1970.
struct LaunchPlace {
  /// Number among all calls that launch a kernel or a graph, from the program's first one, attached or not;
  /// records of one call share it.
  std::uint64_t correlation = 0;
  std::uint64_t ordinal = 0;  ///< of the device
  std::uint64_t context = 0;  ///< the driver's number for the context; 0: none
  std::uint64_t stream = 0;   ///< 0: the default stream; else in order of appearance
  /// Identifies the code that contains the kernel, equal in all processes; empty: unknown.
  std::string module = {};
  std::uint64_t thread = 0;              ///< of the operating system
  std::uint64_t begin_us = 0;            ///< before the launch
  std::uint64_t end_us = 0;              ///< when its results were seen, after its end
  std::optional<double> device_ms = {};  ///< the instrumented launch on the device, if measured
};

/// Memory of the program that was live at a launch.
struct NamedAllocation {
  std::string name;         ///< "#3": the program's fourth allocation
  std::string caller = {};  ///< the program's call that made it, "main+0x1c8"; empty: unknown
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  bool operator==(const NamedAllocation&) const = default;
};

struct LaunchRecord {
  std::string kernel;  ///< mangled
  /// Index among the launches of its device, module and kernel made while attached.
  std::uint64_t launch = 0;
  /// Several launches that added to the same counters: the results are their sums.
  struct Shared {
    std::uint64_t launches = 0;  ///< at least 2; `launch` is the first one
    std::uint64_t last = 0;      ///< number of the last one; those between may have other records
  };
  std::optional<Shared> shared = {};  ///< nullopt: the record is of one launch
  std::uint64_t launches() const { return shared ? shared->launches : 1; }
  std::string device;
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::string spec;
  std::vector<ResultValue> results;
  /// The kernel's table (SitesRecord::table) for results with the extents BASIC_BLOCKS or INSTRUCTIONS.
  std::optional<std::uint64_t> sites;
  /// One in this many launches, thread blocks and warps was measured; all 1: everything was. Results are as
  /// measured, not scaled.
  struct Sampling {
    struct Handler {
      std::uint64_t line = 0;  ///< in the specification
      std::uint64_t blocks = 1, warps = 1;
    };
    std::uint64_t launches = 1, blocks = 1, warps = 1;  ///< if handlers differ: the largest
    std::vector<Handler> handlers = {};                 ///< all of them, if they differ
    bool is_whole() const { return launches == 1 && blocks == 1 && warps == 1; }
  };
  Sampling sampling;
  std::optional<LaunchResources> resources = {};  ///< with counts of words, if the device reports them
  std::optional<ModelledTime> modelled = {};      ///< of the instrumented launch
  std::vector<std::string> notes;                 ///< e.g. accesses dropped
  std::vector<std::string> ranges;                ///< named ranges in which it was made, outermost first
  std::optional<LaunchPlace> place = {};          ///< missing in older records
  /// Allocations that addresses in tables of the results point into, sorted by address.
  std::vector<NamedAllocation> allocations = {};
  std::string process = {};  ///< ProcessRecord::process; empty: the sink's
};

/// Properties of a device that the driver reports; 0: not reported.
struct DeviceRecord {
  std::string device;
  std::uint64_t compute_capability = 0;  ///< × 10
  std::uint64_t multiprocessors = 0;
  std::uint64_t clock_khz = 0;
  std::uint64_t memory_clock_khz = 0;
  std::uint64_t memory_bus_bits = 0;
  std::uint64_t threads_per_sm = 0;
  std::uint64_t blocks_per_sm = 0;
  std::uint64_t registers_per_sm = 0;
  std::uint64_t shared_per_sm = 0;
  std::uint64_t reserved_shared_per_block = 0;  ///< bytes that each block uses in addition
  std::uint64_t ordinal = 0;
  std::string uuid = {};  ///< "GPU-…"; empty: unknown
};

/// An operation of the program on the device.
struct ActivityRecord {
  struct Launch {
    std::string kernel;  ///< mangled
    std::uint64_t launch = 0;
    std::uint64_t shared_bytes = 0;            ///< per block, static and dynamic
    std::optional<std::uint64_t> registers;    ///< per thread
    bool registers_are_estimated = false;      ///< from the PTX
    std::optional<double> milliseconds;        ///< on the device, if measured
    std::optional<double> memory_bytes;        ///< past all caches, if modelled
    std::vector<std::uint64_t> array_numbers;  ///< arrays that its parameters point into
    std::vector<std::uint64_t> array_bytes;    ///< their sizes
  };
  struct Copy {
    std::uint64_t bytes = 0;
    std::string direction;      ///< "to device", "to host", "within device", "within host"
    bool asynchronous = false;  ///< the call does not wait for the copy
  };
  std::uint64_t order = 0;   ///< of the program's calls, from 0
  std::uint64_t stream = 0;  ///< 0: the default stream; else in order of appearance
  double host_ms = 0;        ///< of the call, since the first activity
  std::vector<std::string> ranges;
  std::optional<Launch> launch;
  std::optional<Copy> copy;
  bool wait = false;  ///< the host waits for the device
};

/// The instructions and basic blocks of a kernel and of the functions it calls; positions are the IDs in
/// results.
struct SitesRecord {
  static constexpr std::uint32_t unknown = 0xffffffff;

  struct Instruction {
    std::uint32_t block = 0;
    std::uint32_t opcode = 0;           ///< index into `opcodes`
    std::uint32_t labels = 0;           ///< index into `labels`
    std::uint32_t ptx_line = 0;         ///< from 1
    std::uint32_t file = unknown;       ///< index into `files`
    std::uint32_t line = 0;             ///< of the source; 0: unknown
    std::uint32_t call_site = unknown;  ///< index into `call_sites`: the call that inlined this function
    std::uint32_t object = unknown;     ///< index into `objects`: the memory that the address points into
    std::uint32_t stride = unknown;     ///< index into `strides`: bytes between neighbouring lanes
    bool operator==(const Instruction&) const = default;
  };
  struct Block {
    std::uint32_t function = 0;  ///< index into `functions`
    std::uint32_t first = 0;     ///< its first instruction
    std::uint32_t instructions = 0;
    std::uint32_t falls_to = unknown;     ///< block reached without a jump
    std::uint32_t branches_to = unknown;  ///< the only target of the jump at its end
    std::uint32_t join = unknown;         ///< its immediate post-dominator
    std::uint32_t loop = unknown;         ///< header of the innermost enclosing loop, other than itself
    bool operator==(const Block&) const = default;
  };
  /// A call that was inlined.
  struct CallSite {
    std::uint32_t file = unknown;  ///< index into `files`
    std::uint32_t line = 0;
    std::uint32_t outer = unknown;  ///< index into `call_sites`: the call that inlined this line's function
    bool operator==(const CallSite&) const = default;
  };

  /// Lines of the module's PTX, beginning with line `line`.
  struct PtxPart {
    std::uint64_t line = 1;
    std::string text;
  };

  std::string kernel;                            ///< mangled
  std::uint64_t table = 0;                       ///< number among the kernel's tables
  std::vector<std::string> functions;            ///< mangled, the kernel first
  std::vector<std::string> opcodes;              ///< "ld.global.f32"
  std::vector<std::string> files;                ///< paths
  std::vector<std::vector<std::string>> labels;  ///< sets of filter labels: {"MEM_READ", "GLOBAL"}
  std::vector<std::string> objects = {};         ///< "argument 2", or the mangled name of a variable
  std::vector<std::string> strides = {};         ///< "4", "4 * argument 6"
  std::vector<CallSite> call_sites = {};
  std::vector<Block> blocks;
  std::vector<Instruction> instructions;
  std::vector<PtxPart> ptx = {};  ///< text of the functions; empty: not recorded
};

/// Coverage of a kernel under specifications that were attached together.
struct CoverageRecord {
  std::string kernel;
  bool instrumented = false;
  std::string reason;          ///< why it was not instrumented, or empty
  std::uint64_t launches = 0;  ///< all launches seen while a specification was attached
  std::uint64_t instrumented_launches = 0;
  std::uint64_t sites = 0;  ///< number of instrumented sites
  std::vector<std::string> notes;
  std::string module = {};              ///< LaunchPlace::module
  std::vector<std::string> specs = {};  ///< specifications that were attached together
  std::string ptx_origin = {};          ///< origin of its PTX; empty: the program image
  bool lacks_ptx = false;               ///< true if its PTX is not available
  /// Launch shape of a kernel that cannot be instrumented.
  struct Shape {
    std::uint32_t grid[3] = {1, 1, 1};
    std::uint32_t block[3] = {1, 1, 1};
    bool differs = false;         ///< true if other launches have other grids or blocks
    std::uint64_t registers = 0;  ///< per thread; 0: unknown
  };
  std::optional<Shape> shape = {};  ///< of its first launch
};

/// Resources that a kernel uses on a multiprocessor, with the block size and dynamic shared memory of its
/// first launch.
struct KernelResources {
  std::uint64_t registers = 0;      ///< per thread
  std::uint64_t local_bytes = 0;    ///< per thread
  std::uint64_t shared_bytes = 0;   ///< static, per thread block
  std::uint64_t blocks_per_sm = 0;  ///< resident at a time
  std::uint64_t warps_per_sm = 0;   ///< of these blocks
  std::uint64_t most_warps_per_sm = 0;
};

/// Milliseconds, as in Figure 8 of the Lynx paper.
struct TimingRecord {
  std::string kernel;
  double parse = 0, instrument = 0, emit = 0, load = 0, execute = 0;
  std::uint64_t launches = 0;                    ///< launches that `execute` covers
  std::optional<KernelResources> original = {};  ///< on devices that have such limits
  std::optional<KernelResources> variant = {};   ///< of the instrumented kernel
  std::string device = {};
  /// clearing and copying back the launches' buffers, if measured
  std::optional<double> buffers = {};
  std::string modelled = {};  ///< the machine that `execute` is modelled for; empty: it is measured
};

/// Times of one variant of a kernel in launches of one shape (LYNXPP_TRIALS): of the original, or of one that
/// repeats some operations. Written at the end of the process, the original's first.
struct TrialRecord {
  /// An instruction that the variant repeats.
  struct Site {
    std::uint64_t ptx_line = 0;
    std::string file = {};  ///< of the source; empty: unknown
    std::uint64_t line = 0;
    std::string opcode = {};
    std::string note = {};     ///< what differs from the operation itself; empty: nothing
    bool is_left_out = false;  ///< true: nothing is added here, for the reason in `note`
    bool operator==(const Site&) const = default;
  };

  /// A part of a count, by a variant that counts (ptx::result_words).
  struct Count {
    std::string operation;  ///< "integer"
    /// `lanes`: threads that execute them; `waits`: cycles that threads wait; `bytes`: bytes only read
    std::uint64_t count = 0;
    /// `lanes`: lanes of the warps that issue them; `waits`: all cycles; `bytes`: bytes only written
    std::uint64_t of = 0;
    bool operator==(const Count&) const = default;
  };

  std::string kernel;
  std::string module = {};  ///< LaunchPlace::module
  std::string device = {};
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::uint64_t shared_bytes = 0;  ///< dynamic, of the program's launches
  /// Value of `perturbation` for a kernel of ours that moves the bytes counted by "bytes:again".
  static constexpr std::string_view moving = "moving:again";
  /// Value of Count::operation for the bytes that the kernel both reads and writes; unknown if missing.
  static constexpr const char* intermediate = "intermediate";
  /// A ptx::Perturbation as text, "shared-access:again"; empty: the original.
  std::string perturbation = {};
  std::vector<Site> sites = {};
  std::vector<double> ms = {};      ///< of each measured launch, in their order
  bool is_modelled = false;         ///< true: `ms` are modelled, not measured
  std::uint64_t registers = 0;      ///< per thread; 0: unknown, as are the next two
  std::uint64_t spill_bytes = 0;    ///< local memory per thread: spilled registers and local arrays
  std::uint64_t blocks_per_sm = 0;  ///< resident at a time
  std::uint64_t launches = 0;       ///< the program's launches of the kernel with this shape
  std::uint64_t replays = 0;        ///< additional launches of this variant
  std::vector<Count> counts = {};   ///< of the last launch, if the variant counts
  /// Of a remedy whose results were compared with the original's: "identical", "different", "varying" if the
  /// original's launches differ, or why they were not compared. Empty: not requested.
  std::string results = {};
  std::string note = {};  ///< why times are missing or not comparable; empty: they are
};

/// Output of a specification's ON_END about all launches, after the last one.
struct TotalRecord {
  std::string spec;
  std::vector<ResultValue> results;
  std::vector<std::string> notes;
};

/// Receives records as they are made; finish() is called once, at exit or detach. Not thread safe: the
/// session serializes calls.
class Sink {
 public:
  virtual ~Sink() = default;
  /// Called before the process's other records.
  virtual void process(const ProcessRecord& /*record*/) {}
  /// Called before the first launch that refers to it.
  virtual void sites(const SitesRecord& record) = 0;
  virtual void launch(const LaunchRecord& record) = 0;
  virtual void total(const TotalRecord& /*record*/) {}
  virtual void coverage(const CoverageRecord& record) = 0;
  virtual void timing(const TimingRecord& record) = 0;
  virtual void trial(const TrialRecord& /*record*/) {}
  virtual void device(const DeviceRecord& /*record*/) {}
  virtual void activity(const ActivityRecord& /*record*/) {}
  virtual void finish() = 0;
};

/// Appends one JSON object per line to `path` and flushes after each; returns null if the file cannot be
/// opened.
std::unique_ptr<Sink> make_json_lines_sink(const std::string& path);
/// Same, for a file that open_output() has opened at `path`.
std::unique_ptr<Sink> make_json_lines_sink(Descriptor file, const std::string& path);
/// Returns the line, with its newline, that this sink would write.
std::string json_line_of(const ProcessRecord& record);
std::string json_line_of(const SitesRecord& record);
std::string json_line_of(const LaunchRecord& record);
std::string json_line_of(const TotalRecord& record);
std::string json_line_of(const CoverageRecord& record);
std::string json_line_of(const TimingRecord& record);
std::string json_line_of(const TrialRecord& record);
std::string json_line_of(const DeviceRecord& record);
std::string json_line_of(const ActivityRecord& record);
/// Collects records and prints aligned tables on stderr at finish(): one row per kernel and specification
/// with totals over its launches, then the coverage of kernels that were not instrumented, then timings if
/// there are any.
std::unique_ptr<Sink> make_table_sink();
/// Passes every record to all sinks.
std::unique_ptr<Sink> make_tee(std::vector<std::unique_ptr<Sink>> sinks);

}  // namespace lynxpp::report
