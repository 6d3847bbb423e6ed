// What lynxpp tells its user: launch records and coverage records, and the sinks they go to.
//
// JSON Lines (LYNXPP_OUTPUT), one object a line:
//   {"record":"process","process":…,"host":…,"pid":N,"rank":N,"program":…,"begin_us":N}
//   {"record":"launch","process":…,"kernel":…,"demangled":…,"launch":0,"device":…,
//    "grid":[x,y,z],"block":[x,y,z],"spec":…,
//    "results":{name: number | {"value":…,"numerator":…,"denominator":…}
//                     | {"extents":[…],"names":["BASIC_BLOCKS",…],"values":[…]}}, "sites":N,
//    "sampling":{"launches":N,"blocks":N,"warps":N}, "modelled":{"machine":…,"seconds":…, …}, …,
//    "allocations":[{"name":"#3","caller":…,"address":N,"bytes":N},…],
//    "place":{"correlation":N,"ordinal":N,"context":N,"stream":N,"module":…,"thread":N,
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
//   {"record":"activity","order":N,"stream":N,"host_ms":…,"ranges":[…], and one of
//    "launch":{"kernel":…,"launch":N,…} "copy":{"bytes":N,…} "wait":{}}
// Every record of a process names it by "process", twelve hexadecimal digits that no other process has. Its
// own record comes first, a device's before the first launch on it.
// Activities are written with LYNXPP_TIMELINE alone: what the program did, in the order in which it called.
// "ranges" are those that the launching thread was in (docs/quality.md), the outermost first; launch records
// have them too.
// "sites" is the key to results with the extents BASIC_BLOCKS and INSTRUCTIONS: columns with one element for
// each basic block and for each instruction, in the order of basicBlockId() and instructionId(). "function",
// "opcode", "labels" and "file" are indices into the lists above them; a file that is not known is null, its
// line 0. The record stands before the first launch with such results, whose "sites" is the "table" of its
// kernel that belongs to it; a kernel whose variants have the same instructions has one table, number 0.
// "ptx" is the text of its functions as the program has it.
// "sampling" stands where not everything was measured: 1 of so many, and nothing was scaled up. A launch
// counts from 0, per device, module and kernel, over the launches made while a specification was attached.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "support/descriptor.h"

namespace lynxpp::report {

using Values = std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::uint64_t>>;

/// How the values of several launches become one.
enum class Fold {
  sum,
  mean,
  minimum,
  maximum,
  ratio,  ///< the sum of the numerators over the sum of the denominators
  same,   ///< no amount (an address, a number of something): the value, where all launches have the same
  key,    ///< the same, of a column that names the rows of its table
  first,  ///< of the first launch that has it
  last,
  concatenate,  ///< rows of a table stay apart by launch
};

/// The names of a record's results differ.
struct ResultValue {
  std::string name;
  std::vector<std::uint64_t> extents;  ///< empty: a number
  Values values;                       ///< of a ratio its numerators
  std::string unit;
  std::vector<std::string> extent_names = {};  ///< as declared: "BASIC_BLOCKS", "4"; for each extent, or none
  std::string table = {};  ///< column of this table, which `name` begins with: "TABLE.COLUMN"
  /// Histogram: bin k of the last extent is for values from bounds[k] up to, not including, bounds[k + 1].
  /// Those below and beyond all bins are counted for each index of the extents before the last.
  std::vector<std::int64_t> bounds = {};
  std::vector<std::uint64_t> underflow = {};
  std::vector<std::uint64_t> overflow = {};
  std::vector<std::string> labels = {};  ///< of the indices of the first extent; none: their numbers
  std::vector<std::string> texts = {};   ///< column: what its values stand for, as many; or none
  /// Of a ratio, as many as values; where one is 0 there is no value.
  std::optional<Values> denominators = {};
  std::optional<Fold> fold = {};               ///< none: follows from name and unit (report/totals.h)
  std::optional<std::uint64_t> left_out = {};  ///< column: of the table's last rows so many are not here
};

/// What a launch's thread block takes of a multiprocessor, and what one holds.
struct LaunchResources {
  struct Multiprocessor {
    std::uint64_t threads = 0;
    std::uint64_t blocks = 0;
    std::uint64_t registers = 0;              ///< 0: they limit nothing
    std::uint64_t shared_bytes = 0;           ///< of all its blocks
    std::uint64_t shared_unit = 1;            ///< a block gets a multiple of so many bytes
    std::uint64_t reserved_shared_bytes = 0;  ///< that each block takes besides
    std::uint64_t block_shared_bytes = 0;     ///< most of one block
  };
  std::uint64_t registers = 0;             ///< of a thread; 0: not known
  std::uint64_t static_shared_bytes = 0;   ///< of a thread block
  std::uint64_t dynamic_shared_bytes = 0;  ///< as launched
  Multiprocessor multiprocessor;
};

/// The launch's time as a model of `machine` has it; it was not measured.
struct ModelledTime {
  struct Cache {
    std::uint64_t hits = 0, misses = 0;  ///< of sectors
  };
  std::string machine;
  double cycles = 0, seconds = 0;
  std::uint64_t blocks_per_sm = 0, warps_per_sm = 0;
  std::vector<std::uint64_t> partitions;  ///< transactions of the memory, for each partition
  std::optional<Cache> l1 = {}, l2 = {};
};

/// A process that wrote records.
struct ProcessRecord {
  std::string process;    ///< that all its records name: 12 hexadecimal digits
  std::string host = {};  ///< empty, as what follows: not known
  std::uint64_t pid = 0;
  std::optional<std::uint64_t> rank = {};  ///< of an MPI program
  std::string program = {};                ///< path of the executable
  std::uint64_t begin_us = 0;              ///< microseconds since 1970, when the first record was near
  std::string file = {};                   ///< whose records name no process: they were merged from it
};

/// Where and when a launch was made. Times are those of the host's clock, in microseconds since 1970.
struct LaunchPlace {
  /// Of all calls that launch a kernel or a graph, from the program's first one, attached or not; records of
  /// one call have the same.
  std::uint64_t correlation = 0;
  std::uint64_t ordinal = 0;  ///< of the device
  std::uint64_t context = 0;  ///< the driver's number for it; 0: there is none
  std::uint64_t stream = 0;   ///< 0: the default stream; else in order of appearance
  /// Names the code that holds the kernel, in every process the same; empty: not known.
  std::string module = {};
  std::uint64_t thread = 0;              ///< of the operating system
  std::uint64_t begin_us = 0;            ///< before the launch was made
  std::uint64_t end_us = 0;              ///< when its results were seen to be there: not before it was over
  std::optional<double> device_ms = {};  ///< the instrumented launch on the device, where that was measured
};

/// Memory of the program that was live at a launch.
struct NamedAllocation {
  std::string name;         ///< "#3": the fourth that the program made
  std::string caller = {};  ///< the program's call that made it, "main+0x1c8"; empty: not known
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

struct LaunchRecord {
  std::string kernel;  ///< mangled
  /// Index among the launches of its device, module and kernel made while attached.
  std::uint64_t launch = 0;
  std::string device;
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::string spec;
  std::vector<ResultValue> results;
  /// The table of this kernel's sites that results with BASIC_BLOCKS or INSTRUCTIONS go by:
  /// SitesRecord::table.
  std::optional<std::uint64_t> sites;
  /// Of so many launches, thread blocks and warps one was measured; all 1: everything was. Results are as
  /// measured, not scaled.
  struct Sampling {
    struct Handler {
      std::uint64_t line = 0;  ///< of the specification
      std::uint64_t blocks = 1, warps = 1;
    };
    std::uint64_t launches = 1, blocks = 1, warps = 1;  ///< where handlers differ: the rarest
    std::vector<Handler> handlers = {};                 ///< all of them, where they differ
    bool is_whole() const { return launches == 1 && blocks == 1 && warps == 1; }
  };
  Sampling sampling;
  std::optional<LaunchResources> resources = {};  ///< with counts of words, where the device knows them
  std::optional<ModelledTime> modelled = {};      ///< of the instrumented launch
  std::vector<std::string> notes;                 ///< e.g. accesses dropped
  std::vector<std::string> ranges;                ///< named ranges that it was made in, the outermost first
  std::optional<LaunchPlace> place = {};          ///< older records lack it
  /// That addresses in tables of the results lie in, sorted by address.
  std::vector<NamedAllocation> allocations = {};
  std::string process = {};  ///< ProcessRecord::process; empty: the sink's
};

/// What the driver says of a device; 0: it says nothing.
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
  std::uint64_t shared_per_block_besides = 0;  ///< bytes that each block takes in addition
  std::uint64_t ordinal = 0;
  std::string uuid = {};  ///< "GPU-…"; empty: not known
};

/// Something that the program did with the device.
struct ActivityRecord {
  struct Launch {
    std::string kernel;  ///< mangled
    std::uint64_t launch = 0;
    std::uint64_t shared_bytes = 0;            ///< of a block, static and dynamic
    std::optional<std::uint64_t> registers;    ///< of a thread
    bool registers_are_estimated = false;      ///< from the PTX
    std::optional<double> milliseconds;        ///< on the device, where it was measured
    std::vector<std::uint64_t> array_numbers;  ///< arrays that its parameters point into
    std::vector<std::uint64_t> array_bytes;    ///< their sizes
  };
  struct Copy {
    std::uint64_t bytes = 0;
    std::string direction;      ///< "to device", "to host", "within device", "within host"
    bool asynchronous = false;  ///< the call does not wait for it
  };
  std::uint64_t order = 0;   ///< of the program's calls, from 0
  std::uint64_t stream = 0;  ///< 0: the default stream; else in order of appearance
  double host_ms = 0;        ///< of the call, since the first activity
  std::vector<std::string> ranges;
  std::optional<Launch> launch;
  std::optional<Copy> copy;
  bool wait = false;  ///< the host has waited for the device
};

/// The instructions and basic blocks of a kernel, with what it calls; positions are the ids that results
/// have.
struct SitesRecord {
  static constexpr std::uint32_t unknown = 0xffffffff;

  struct Instruction {
    std::uint32_t block = 0;
    std::uint32_t opcode = 0;           ///< in `opcodes`
    std::uint32_t labels = 0;           ///< in `labels`
    std::uint32_t ptx_line = 0;         ///< from 1
    std::uint32_t file = unknown;       ///< in `files`
    std::uint32_t line = 0;             ///< of the source; 0: not known
    std::uint32_t call_site = unknown;  ///< in `call_sites`: call that inlined the function of this line
    std::uint32_t object = unknown;     ///< in `objects`: memory that the address points into
    std::uint32_t stride = unknown;     ///< in `strides`: bytes between neighbouring lanes
    bool operator==(const Instruction&) const = default;
  };
  struct Block {
    std::uint32_t function = 0;  ///< in `functions`
    std::uint32_t first = 0;     ///< instruction
    std::uint32_t instructions = 0;
    std::uint32_t falls_to = unknown;     ///< block reached without a jump
    std::uint32_t branches_to = unknown;  ///< the only target of the jump at its end
    std::uint32_t join = unknown;         ///< its immediate post-dominator
    std::uint32_t loop = unknown;         ///< header of the innermost loop around it, itself excluded
    bool operator==(const Block&) const = default;
  };
  /// A call that was replaced by the body of the called function.
  struct CallSite {
    std::uint32_t file = unknown;  ///< in `files`
    std::uint32_t line = 0;
    std::uint32_t outer = unknown;  ///< in `call_sites`: call that inlined the function of this line
    bool operator==(const CallSite&) const = default;
  };

  /// Lines of the module's PTX, from `line` on.
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
  std::vector<PtxPart> ptx = {};  ///< of the functions; none: it is not told
};

/// Coverage of a kernel under specifications that were attached together.
struct CoverageRecord {
  std::string kernel;
  bool instrumented = false;
  std::string reason;          ///< why not, or empty
  std::uint64_t launches = 0;  ///< all launches seen while a spec was attached
  std::uint64_t instrumented_launches = 0;
  std::uint64_t sites = 0;  ///< places a handler was spliced at
  std::vector<std::string> notes;
  std::string module = {};              ///< LaunchPlace::module
  std::vector<std::string> specs = {};  ///< that were attached together
  std::string ptx_origin = {};          ///< where its PTX was found; empty: in the program image
  bool lacks_ptx = false;               ///< true if its PTX is not available
  /// Launch shape of a kernel that cannot be instrumented.
  struct Shape {
    std::uint32_t grid[3] = {1, 1, 1};
    std::uint32_t block[3] = {1, 1, 1};
    bool differs = false;         ///< true if other launches have other grids or blocks
    std::uint64_t registers = 0;  ///< of a thread; 0: unknown
  };
  std::optional<Shape> shape = {};  ///< of its first launch
};

/// What a kernel takes of a multiprocessor, with the block size and dynamic shared memory of its first
/// launch.
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
  std::uint64_t launches = 0;                    ///< whose time `execute` is
  std::optional<KernelResources> original = {};  ///< on devices that have such limits
  std::optional<KernelResources> variant = {};   ///< of the instrumented kernel
  std::string device = {};
  /// clearing and copying back the launches' buffers, where it was measured
  std::optional<double> buffers = {};
  std::string modelled = {};  ///< the machine that `execute` is modelled for; empty: it is measured
};

/// What a specification says of all launches together (its ON_END), behind the last one.
struct TotalRecord {
  std::string spec;
  std::vector<ResultValue> results;
  std::vector<std::string> notes;
};

/// Receives records as they are made; finish() is called once, at exit or detach. Not thread safe: the
/// session serialises.
class Sink {
 public:
  virtual ~Sink() = default;
  /// Whose records follow.
  virtual void process(const ProcessRecord& /*record*/) {}
  /// Before the first launch that refers to it.
  virtual void sites(const SitesRecord& record) = 0;
  virtual void launch(const LaunchRecord& record) = 0;
  virtual void total(const TotalRecord& /*record*/) {}
  virtual void coverage(const CoverageRecord& record) = 0;
  virtual void timing(const TimingRecord& record) = 0;
  virtual void device(const DeviceRecord& /*record*/) {}
  virtual void activity(const ActivityRecord& /*record*/) {}
  virtual void finish() = 0;
};

/// Appends one JSON object a line to `path` and flushes after each; null when the file cannot be opened.
std::unique_ptr<Sink> make_json_lines_sink(const std::string& path);
/// The same for a file that open_output() has opened at `path`.
std::unique_ptr<Sink> make_json_lines_sink(Descriptor file, const std::string& path);
/// The line, with its end, that the sink above writes of it.
std::string json_line_of(const ProcessRecord& record);
std::string json_line_of(const SitesRecord& record);
std::string json_line_of(const LaunchRecord& record);
std::string json_line_of(const TotalRecord& record);
std::string json_line_of(const CoverageRecord& record);
std::string json_line_of(const TimingRecord& record);
std::string json_line_of(const DeviceRecord& record);
std::string json_line_of(const ActivityRecord& record);
/// Collects and prints aligned tables on stderr at finish(): one row per kernel and spec with totals over its
/// launches, then the coverage of kernels that were not instrumented, then timings when there are any.
std::unique_ptr<Sink> make_table_sink();
/// Hands every record to all of them.
std::unique_ptr<Sink> make_tee(std::vector<std::unique_ptr<Sink>> sinks);

}  // namespace lynxpp::report
