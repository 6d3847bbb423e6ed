// What the launch session (interposer/session/session.h) needs of a device. Two implementations: device/cuda
// (the real driver) and device/cpu (the built-in one).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/allocations.h"
#include "device/memory_budget.h"
#include "support/result.h"

namespace lynxpp::device {

/// What a multiprocessor holds at a time.
struct MultiprocessorLimits {
  std::uint32_t threads = 0;
  std::uint32_t blocks = 0;
  std::uint32_t registers = 0;              ///< 0: they limit nothing
  std::uint32_t shared_bytes = 0;           ///< of all its blocks
  std::uint32_t shared_unit = 1;            ///< a block gets a multiple of so many bytes
  std::uint32_t reserved_shared_bytes = 0;  ///< that each block takes besides
  std::uint32_t block_shared_bytes = 0;     ///< most of one block
};

struct DeviceInfo {
  std::string name;  ///< "NVIDIA H200", "cpu"
  int ordinal = 0;
  int compute_capability = 75;  ///< × 10
  bool contracts = false;       ///< its compiler fuses products and sums that name no rounding, as ptxas does
  std::uint32_t multiprocessors = 1;
  std::uint32_t sm_id_limit = 1;  ///< every %smid is below
  std::uint32_t clock_khz = 0;    ///< SM clock, 0 when unknown
  std::optional<MultiprocessorLimits> limits = {};
  std::uint64_t context = 0;  ///< the driver's number for it; 0: there is none
  std::string uuid = {};      ///< "GPU-…" as nvidia-smi names it; empty: not known
};

/// A kernel launch as the program asked for it. All pointers are the program's own and valid during the call
/// only.
struct Launch {
  void* function = nullptr;          ///< the original CUfunction or CUkernel
  bool is_context_function = false;  ///< true: `function` is a CUfunction; false: unknown
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::uint32_t shared_bytes = 0;  ///< dynamic
  void* stream = nullptr;
  bool per_thread_stream = false;  ///< came through a _ptsz entry point
  bool cooperative = false;
  void** parameters = nullptr;       ///< one pointer per kernel parameter, or null
  void** extra = nullptr;            ///< CU_LAUNCH_PARAM_BUFFER_POINTER list, or null
  const void* attributes = nullptr;  ///< CUlaunchAttribute[attribute_count]
  std::uint32_t attribute_count = 0;
  std::uint64_t number = 0;              ///< of the kernel's launches, from 0, on the cpu device
  int cache_config = -1;                 ///< CUfunc_cache that the program has set of the function; < 0: none
  std::uint64_t attribute_changes = 0;   ///< how often the program has set an attribute of some function
  std::uint32_t cluster[3] = {0, 0, 0};  ///< blocks of a cluster on the cpu device; 0: it has none
  std::uint64_t correlation = 0;         ///< of all calls of the process that launch, from 0
  bool may_be_captured = true;           ///< false: no capture goes on in the process

  std::uint64_t threads_per_block() const { return std::uint64_t{block[0]} * block[1] * block[2]; }
  std::uint64_t blocks() const { return std::uint64_t{grid[0]} * grid[1] * grid[2]; }
};

/// An instrumented kernel, loaded. Destroying it unloads it.
class Variant {
 public:
  virtual ~Variant() = default;
};

/// Where a parameter lies in the kernel's parameter buffer.
struct ParameterSlot {
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
};

/// The launch's parameter buffer: every slot filled from launch.parameters or launch.extra. Failure: neither
/// is there, or the extra buffer is too short.
Result<std::vector<std::byte>> parameter_buffer(const Launch& launch, std::span<const ParameterSlot> slots);

/// What a multiprocessor and the memory have; 0: not known.
struct DeviceLimits {
  std::uint32_t memory_clock_khz = 0;
  std::uint32_t memory_bus_bits = 0;
  std::uint32_t threads_per_sm = 0;
  std::uint32_t blocks_per_sm = 0;
  std::uint32_t registers_per_sm = 0;
  std::uint32_t shared_per_sm = 0;             ///< bytes
  std::uint32_t shared_per_block_besides = 0;  ///< bytes that each block takes in addition
};

/// What a kernel takes of a multiprocessor, with a launch's block size and dynamic shared memory.
struct KernelResources {
  std::uint32_t registers = 0;      ///< per thread
  std::uint32_t local_bytes = 0;    ///< per thread
  std::uint32_t shared_bytes = 0;   ///< static, per thread block
  std::uint32_t blocks_per_sm = 0;  ///< resident at a time
  std::uint32_t warps_per_sm = 0;   ///< of these blocks
  std::uint32_t most_warps_per_sm = 0;
};

/// What the original kernel of a launch takes, besides dynamic shared memory.
struct KernelNeeds {
  std::uint32_t registers = 0;     ///< per thread; 0: not known
  std::uint32_t shared_bytes = 0;  ///< static, per thread block
};

/// Zeroed device memory of one instrumented launch, from allocate_zeroed() to its readback. Destroying it
/// gives the memory back, behind what is on the launch's stream.
class Buffer {
 public:
  explicit Buffer(std::uint64_t address) : address_(address) {}
  virtual ~Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::uint64_t address() const { return address_; }

 private:
  std::uint64_t address_;
};

/// Memory of the host that kernels write while the host reads it. Destroyed when nothing on the device uses
/// it any more.
class HostMemory {
 public:
  explicit HostMemory(std::span<std::byte> bytes) : bytes_(bytes) {}
  virtual ~HostMemory() = default;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }
  std::uint64_t address() const {
    return reinterpret_cast<std::uint64_t>(bytes_.data());
  }  ///< of kernels, too

 private:
  std::span<std::byte> bytes_;
};

/// A launch's time where no clock has measured it: a model of `machine` says what it takes there, and what
/// its memories do.
struct ModelledTime {
  struct Cache {
    std::uint64_t hits = 0, misses = 0;
  };
  std::string machine;
  double cycles = 0;
  double seconds = 0;
  std::uint32_t blocks_per_sm = 0;
  std::uint32_t warps_per_sm = 0;
  std::vector<std::uint64_t> partitions;  ///< transactions that each has served
  std::optional<Cache> l1, l2;            ///< of sectors, where the machine has them
};

/// While it lives, what several calls of its thread have in common is done once. Others made meanwhile go
/// before it.
class Together {
 public:
  virtual ~Together() = default;
};

/// A copy of device memory on its way to the host. Thread safe towards its device, so that any thread may
/// take the result.
class Readback {
 public:
  virtual ~Readback() = default;
  /// For calls of this one and of others of the same device.
  virtual std::unique_ptr<Together> together() { return nullptr; }
  virtual bool ready() = 0;
  /// Blocks until the launch and the copy are through. Failure: the device reported an error.
  virtual Result<std::span<std::byte>> wait() = 0;
  /// Time the launch took on the device; nullopt when it was not measured. Valid after wait().
  virtual std::optional<double> kernel_milliseconds() { return std::nullopt; }
  /// Where that time is modelled and not measured. Valid after wait().
  virtual std::optional<ModelledTime> modelled() { return std::nullopt; }
  /// No less than the launch took on the device, however long the program idled behind it; nullopt when
  /// nothing is known. Valid after wait().
  virtual std::optional<double> most_milliseconds() { return kernel_milliseconds(); }
  /// Time that clearing and copying back the launch's buffers took on the device; nullopt when it was not
  /// measured. Valid after wait().
  virtual std::optional<double> buffer_milliseconds() { return std::nullopt; }
};

class ProgramGraph;  // device/graphs.h

/// How the time of a launch on the device is measured.
enum class KernelTimes {
  off,
  running,  ///< by events around the kernel; the device may idle between them until the host has launched it
  /// … with the stream held until everything is enqueued: the kernel's time and nothing else. Every launch
  /// costs some microseconds more
  alone,
};

/// What a device has to know of a variant besides its text.
/// Where the directives of a kernel stand in a text: between its parameters and its body. Empty: not known.
struct DirectivePlace {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct VariantTraits {
  std::uint32_t kept_registers = 0;  ///< of 32 bits: in which it counts while the kernel runs
  /// Its thread blocks may wait for each other without a cooperative launch.
  bool may_wait_for_blocks = true;
  DirectivePlace directives = {};  ///< of the variant's kernel, in the PTX that is loaded
};

/// Thread safe: several threads may be in the midst of a launch.
class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;

  /// The program's memory as it is now; never null. Costs next to nothing while no memory is allocated or
  /// freed, else some time for each live allocation.
  virtual std::shared_ptr<const LiveAllocations> allocations() = 0;

  /// How to measure the launches to come (Readback::kernel_milliseconds).
  virtual void measure_kernels(KernelTimes /*how*/) {}

  /// How much memory probe buffers may take, of the device and of the host. Before the first launch.
  virtual void limit_memory(const MemoryBudget& /*budget*/) {}

  /// For the calls that make one launch.
  virtual std::unique_ptr<Together> together() { return nullptr; }

  virtual DeviceLimits limits() { return {}; }

  /// Static shared memory of the launch's own function, bytes for each thread block.
  virtual std::uint32_t static_shared_bytes(const Launch& launch) {
    const std::optional<KernelResources> found = resources(launch, nullptr);
    return found ? found->shared_bytes : 0;
  }

  /// Of `variant`, or of the launch's own function when it is null; nullopt when the device has no such
  /// limits.
  virtual std::optional<KernelResources> resources(const Launch& /*launch*/, const Variant* /*variant*/) {
    return std::nullopt;
  }

  /// Of the launch's own function; nullopt when that is not known.
  virtual std::optional<KernelNeeds> needs(const Launch& /*launch*/) { return std::nullopt; }

  /// How many thread blocks of the same an SM holds at a time; 0 when one does not fit. nullopt: not known.
  virtual std::optional<std::uint32_t> resident_blocks(const Launch& launch, const Variant* variant) {
    const std::optional<KernelResources> found = resources(launch, variant);
    return found ? std::optional(found->blocks_per_sm) : std::nullopt;
  }

  /// Makes the launch as the program asked for it and measures its time. The result holds no bytes. Failure:
  /// nothing was launched.
  virtual Result<std::unique_ptr<Readback>> launch_original(const Launch& launch) = 0;

  /// Compiles and loads the variant. The result keeps the original's launch limits (dynamic shared memory,
  /// cluster size, carve-out). `launch` is the first one that wants it.
  virtual Result<std::unique_ptr<Variant>> load(const std::string& ptx, const std::string& kernel,
                                                const Launch& launch, const VariantTraits& traits) = 0;

  /// Returns the address of a variable of the original's module; nullopt if the module has no such name.
  virtual std::optional<std::uint64_t> variable_address(const Launch& launch, const std::string& name) = 0;

  /// Zeroed device memory, ordered on the launch's stream, and what reading it back takes of the host.
  /// Failure: there is none, or it would be more than the budget; a text that many launches share.
  virtual Result<std::unique_ptr<Buffer>> allocate_zeroed(std::size_t bytes, const Launch& launch) = 0;

  /// Zeroed, at a multiple of 64 bytes. Failure: there is none, or it would be more than the budget.
  virtual Result<std::unique_ptr<HostMemory>> host_memory(std::size_t /*bytes*/) {
    return failure("kernels of this device write no memory of the host");
  }

  /// Copies `bytes` to the buffer, `offset` bytes from its beginning, ordered on the launch's stream; they
  /// may go away at once.
  virtual Status write(Buffer& buffer, std::uint64_t offset, std::span<const std::byte> bytes,
                       const Launch& launch) = 0;

  /// Launches the variant, which writes to `buffer`, with the launch's own parameters (`slots` describes
  /// them) and `probe` appended as one more parameter of probe.size() bytes at the next multiple of 8.
  /// Asynchronous on the launch's stream. Failure: nothing was launched, so the caller may launch the
  /// original; what goes wrong while the kernel runs is the program's error and the readback's failure.
  virtual Status launch(Variant& variant, const Launch& launch, std::span<const ParameterSlot> slots,
                        std::span<const std::uint64_t> probe, Buffer& buffer) = 0;

  /// Copies the buffer to the host behind everything on the launch's stream, then gives it back.
  virtual Result<std::unique_ptr<Readback>> read_back(std::unique_ptr<Buffer> buffer,
                                                      const Launch& launch) = 0;

  /// For an executable graph of the program's. Failure: the device launches none with variants.
  virtual Result<std::unique_ptr<ProgramGraph>> program_graph();

  /// True while the launch's stream is being captured into a graph. Failure: the stream cannot be asked, as
  /// when the context has failed before.
  virtual Result<bool> capturing(const Launch& launch) = 0;
};

}  // namespace lynxpp::device
