// The interface between the launch session (interposer/session/session.h) and a device. Implementations:
// device/cuda (the real driver) and device/cpu (the built-in device).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/allocations.h"
#include "device/counter_memory.h"
#include "device/memory_budget.h"
#include "support/result.h"

namespace lynxpp::device {

/// Resources of a multiprocessor.
struct MultiprocessorLimits {
  std::uint32_t threads = 0;
  std::uint32_t blocks = 0;
  std::uint32_t registers = 0;              ///< 0 if registers limit nothing
  std::uint32_t shared_bytes = 0;           ///< for all resident blocks
  std::uint32_t shared_unit = 1;            ///< granularity of a block's allocation, bytes
  std::uint32_t reserved_shared_bytes = 0;  ///< additional bytes per block
  std::uint32_t block_shared_bytes = 0;     ///< maximum per block
};

struct DeviceInfo {
  std::string name;  ///< "NVIDIA H200", "cpu"
  int ordinal = 0;
  int compute_capability = 75;   ///< × 10
  bool compiles_slowly = false;  ///< variants are worth compiling before they are launched
  bool contracts = false;        ///< its compiler fuses multiplies and adds without rounding modifiers
  std::uint32_t multiprocessors = 1;
  std::uint32_t sm_id_limit = 1;  ///< exclusive upper bound of %smid
  std::uint32_t clock_khz = 0;    ///< SM clock; 0 if unknown
  std::optional<MultiprocessorLimits> limits = {};
  std::uint64_t context = 0;    ///< the driver's context number; 0 if there is no context
  std::string uuid = {};        ///< "GPU-…" as nvidia-smi prints it; empty if unknown
  bool keeps_counters = false;  ///< Device::counter_memory() is available
  bool models_times = false;    ///< launch times are modelled, not measured
};

/// A kernel launch as the program requested it. All pointers belong to the program and are valid only during
/// the call.
struct Launch {
  void* function = nullptr;          ///< the original CUfunction or CUkernel
  bool is_context_function = false;  ///< true: `function` is a CUfunction; false: it may be either
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::uint32_t shared_bytes = 0;  ///< dynamic
  void* stream = nullptr;
  bool per_thread_stream = false;  ///< true if it came through a _ptsz entry point
  bool cooperative = false;
  void** parameters = nullptr;       ///< one pointer per kernel parameter, or null
  void** extra = nullptr;            ///< CU_LAUNCH_PARAM_BUFFER_POINTER list, or null
  const void* attributes = nullptr;  ///< CUlaunchAttribute[attribute_count]
  std::uint32_t attribute_count = 0;
  std::uint64_t number = 0;              ///< of this kernel's launches, from 0; cpu device only
  int cache_config = -1;                 ///< CUfunc_cache that the program set for the function; < 0: not set
  std::uint64_t attribute_changes = 0;   ///< how often the program set an attribute of any function
  std::uint32_t cluster[3] = {0, 0, 0};  ///< cluster dimensions in blocks, cpu device only; 0: no cluster
  std::uint64_t correlation = 0;         ///< number of the launch call in the process, from 0
  bool may_be_captured = true;           ///< false if the process has no stream capture in progress

  std::uint64_t threads_per_block() const { return std::uint64_t{block[0]} * block[1] * block[2]; }
  std::uint64_t blocks() const { return std::uint64_t{grid[0]} * grid[1] * grid[2]; }
};

/// A loaded instrumented kernel. Destroying it unloads it.
class Variant {
 public:
  virtual ~Variant() = default;
};

/// A parameter's position in the kernel's parameter buffer.
struct ParameterSlot {
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
};

/// Returns the launch's parameter buffer: every slot filled from launch.parameters or launch.extra. Fails if
/// neither is given or the extra buffer is too short.
Result<std::vector<std::byte>> parameter_buffer(const Launch& launch, std::span<const ParameterSlot> slots);

/// Hardware limits of the multiprocessor and the memory; 0 if unknown.
struct DeviceLimits {
  std::uint32_t memory_clock_khz = 0;
  std::uint32_t memory_bus_bits = 0;
  std::uint32_t threads_per_sm = 0;
  std::uint32_t blocks_per_sm = 0;
  std::uint32_t registers_per_sm = 0;
  std::uint32_t shared_per_sm = 0;              ///< bytes
  std::uint32_t reserved_shared_per_block = 0;  ///< additional bytes per block
};

/// Resources that a kernel uses with a launch's block size and dynamic shared memory.
struct KernelResources {
  std::uint32_t registers = 0;      ///< per thread
  std::uint32_t local_bytes = 0;    ///< per thread
  std::uint32_t shared_bytes = 0;   ///< static, per thread block
  std::uint32_t blocks_per_sm = 0;  ///< resident at a time
  std::uint32_t warps_per_sm = 0;   ///< of the resident blocks
  std::uint32_t most_warps_per_sm = 0;
};

/// Resources that a launch's original kernel uses, without dynamic shared memory.
struct KernelNeeds {
  std::uint32_t registers = 0;     ///< per thread; 0 if unknown
  std::uint32_t shared_bytes = 0;  ///< static, per thread block
};

/// Zeroed device memory of one instrumented launch, from allocate_zeroed() to its readback. Destroying it
/// frees the memory after the work enqueued on the launch's stream.
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

/// Host memory that kernels write while the host reads it. Destroy it only after the device has finished
/// using it.
class HostMemory {
 public:
  explicit HostMemory(std::span<std::byte> bytes) : bytes_(bytes) {}
  virtual ~HostMemory() = default;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }
  std::uint64_t address() const {
    return reinterpret_cast<std::uint64_t>(bytes_.data());
  }  ///< also valid in kernels

 private:
  std::span<std::byte> bytes_;
};

/// The modelled time of a launch on `machine`, and the activity of its memories.
struct ModelledTime {
  struct Cache {
    std::uint64_t hits = 0, misses = 0;
  };
  std::string machine;
  double cycles = 0;
  double seconds = 0;
  std::uint32_t blocks_per_sm = 0;
  std::uint32_t warps_per_sm = 0;
  std::vector<std::uint64_t> partitions;  ///< transactions served by each partition
  double memory_bytes = 0;                ///< transferred by all partitions, past all caches
  std::optional<Cache> l1, l2;            ///< in sectors, if the machine has these caches
};

/// Shares the setup of several calls of its thread while it lives. Other CallGroup objects created meanwhile
/// must be destroyed first.
class CallGroup {
 public:
  virtual ~CallGroup() = default;
};

/// A pending copy of device memory to the host. It may be used from any thread, concurrently with its device.
class Readback {
 public:
  virtual ~Readback() = default;
  /// Shares setup between calls of this object and of others of the same device.
  virtual std::unique_ptr<CallGroup> call_group() { return nullptr; }
  /// True if the results are on the host.
  virtual bool ready() = 0;
  /// True if the launch is over: wait() waits for a copy at most.
  virtual bool is_over() { return ready(); }
  /// Blocks until the launch and the copy complete. Fails if the device reports an error.
  virtual Result<std::span<std::byte>> wait() = 0;
  /// Returns the launch's device time; nullopt if it was not measured. Valid after wait().
  virtual std::optional<double> kernel_milliseconds() { return std::nullopt; }
  /// Returns the modelled time if the time was not measured. Valid after wait().
  virtual std::optional<ModelledTime> modelled() { return std::nullopt; }
  /// Returns an upper bound of the launch's device time, which excludes the time that it waited in its stream
  /// and the time until its end was observed; nullopt if unknown, and always for a variant that does not want
  /// it (VariantTraits::wants_time_bound) and is not measured. Valid after wait().
  virtual std::optional<double> max_milliseconds() { return kernel_milliseconds(); }
  /// Returns the device time for clearing and copying the launch's buffers; nullopt if it was not measured.
  /// Valid after wait().
  virtual std::optional<double> buffer_milliseconds() { return std::nullopt; }
};

class ProgramGraph;  // device/graphs.h

/// How launch times are measured on the device.
enum class KernelTimes {
  off,
  running,  ///< events around the kernel; includes idle time before the host has launched it
  /// Like `running`, with the stream held until everything is enqueued: the kernel's time only. Costs some
  /// microseconds per launch.
  alone,
};

/// The position of a kernel's directives in a text, between its parameters and its body. Empty if unknown.
struct DirectiveRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Addresses that a variant's `.const` array of 64-bit elements receives when it is loaded.
struct VariableTable {
  std::string name;
  std::vector<std::uint64_t> addresses;  ///< empty: the variant has no such array
};

/// Properties of a variant that its text does not show.
struct VariantTraits {
  std::uint32_t kept_registers = 0;  ///< 32-bit registers that hold counters while the kernel runs
  /// True if its thread blocks may wait for each other without a cooperative launch.
  bool may_wait_for_blocks = true;
  DirectiveRange directives = {};  ///< of the variant's kernel, in the loaded PTX
  bool wants_time_bound = false;   ///< Readback::max_milliseconds() is wanted; costs an event per launch
  VariableTable variables = {};
};

/// Thread safe: several threads may launch concurrently.
class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;

  /// Returns the program's current memory; never null. Cheap while no memory is allocated or freed, otherwise
  /// linear in the number of live allocations.
  virtual std::shared_ptr<const LiveAllocations> allocations() = 0;

  /// Sets how later launches are timed (Readback::kernel_milliseconds).
  virtual void measure_kernels(KernelTimes /*how*/) {}

  /// Limits device and host memory of probe buffers. Call it before the first launch.
  virtual void limit_memory(const MemoryBudget& /*budget*/) {}

  /// Shares setup between the calls that make one launch.
  virtual std::unique_ptr<CallGroup> call_group() { return nullptr; }

  virtual DeviceLimits limits() { return {}; }

  /// Returns the static shared memory of the launch's own function, in bytes per thread block.
  virtual std::uint32_t static_shared_bytes(const Launch& launch) {
    const std::optional<KernelResources> found = resources(launch, nullptr);
    return found ? found->shared_bytes : 0;
  }

  /// Returns the resources of `variant`, or of the launch's own function if it is null; nullopt if the device
  /// has no such limits.
  virtual std::optional<KernelResources> resources(const Launch& /*launch*/, const Variant* /*variant*/) {
    return std::nullopt;
  }

  /// Returns the resources of the launch's own function; nullopt if they are unknown.
  virtual std::optional<KernelNeeds> needs(const Launch& /*launch*/) { return std::nullopt; }

  /// Returns how many of its thread blocks an SM can hold; 0 if none fits, nullopt if unknown.
  virtual std::optional<std::uint32_t> resident_blocks(const Launch& launch, const Variant* variant) {
    const std::optional<KernelResources> found = resources(launch, variant);
    return found ? std::optional(found->blocks_per_sm) : std::nullopt;
  }

  /// Launches the original kernel and measures its time. The result holds no bytes. If it fails, nothing was
  /// launched.
  virtual Result<std::unique_ptr<Readback>> launch_original(const Launch& launch) = 0;

  /// Compiles and loads the variant, which keeps the original's launch limits (dynamic shared memory, cluster
  /// size, carve-out). `launch` is the first launch that uses it.
  virtual Result<std::unique_ptr<Variant>> load(const std::string& ptx, const std::string& kernel,
                                                const Launch& launch, const VariantTraits& traits) = 0;

  /// Compiles a variant from any thread, before a launch is known, for blocks like those of `launch`; its
  /// other members are not used. load_compiled() completes the variant.
  virtual Result<std::unique_ptr<Variant>> compile(const std::string& /*ptx*/, const std::string& /*kernel*/,
                                                   const Launch& /*launch*/) {
    return failure("this device compiles variants when they are launched");
  }

  /// Same as load(), with the result of compile() for the same arguments.
  virtual Result<std::unique_ptr<Variant>> load_compiled(std::unique_ptr<Variant> /*compiled*/,
                                                         const std::string& ptx, const std::string& kernel,
                                                         const Launch& launch, const VariantTraits& traits) {
    return load(ptx, kernel, launch, traits);
  }

  /// Returns the address of a variable of the original's module; nullopt if the module has no such variable.
  virtual std::optional<std::uint64_t> variable_address(const Launch& launch, const std::string& name) = 0;

  /// Allocates zeroed device memory, ordered on the launch's stream, and the host memory for reading it back.
  /// Fails if memory or the budget is exhausted; the message is the same for all launches.
  virtual Result<std::unique_ptr<Buffer>> allocate_zeroed(std::size_t bytes, const Launch& launch) = 0;

  /// Allocates zeroed counters, ordered on the launch's stream, that stay in device memory. Fails if memory
  /// or the budget is exhausted, and without DeviceInfo::keeps_counters.
  virtual Result<std::unique_ptr<CounterMemory>> counter_memory(std::uint64_t /*bytes*/,
                                                                const Launch& /*launch*/) {
    return failure("counters do not stay in this device's memory");
  }

  /// Allocates zeroed memory aligned to 64 bytes. Fails if memory or the budget is exhausted.
  virtual Result<std::unique_ptr<HostMemory>> host_memory(std::size_t /*bytes*/) {
    return failure("kernels of this device cannot write host memory");
  }

  /// Copies `bytes` to `offset` in the buffer, ordered on the launch's stream. The caller may free `bytes` on
  /// return.
  virtual Status write(Buffer& buffer, std::uint64_t offset, std::span<const std::byte> bytes,
                       const Launch& launch) = 0;

  /// Launches the variant, which writes to `buffer`, asynchronously on the launch's stream. It receives the
  /// launch's own parameters (described by `slots`) and `probe` as one more parameter of probe.size() * 8
  /// bytes at the next multiple of 8. If it fails, nothing was launched, so the caller may launch the
  /// original; a fault while the kernel runs is the program's error and makes the readback fail.
  virtual Status launch(Variant& variant, const Launch& launch, std::span<const ParameterSlot> slots,
                        std::span<const std::uint64_t> probe, Buffer& buffer) = 0;

  /// Copies the buffer to the host after all work on the launch's stream, then frees it.
  virtual Result<std::unique_ptr<Readback>> read_back(std::unique_ptr<Buffer> buffer,
                                                      const Launch& launch) = 0;

  /// True if launches on the launch's stream may write to one buffer, which read_back_shared() reads back.
  virtual bool may_share(const Launch& /*launch*/) { return false; }

  /// Same as read_back(), for a buffer that launches on one stream of the program share; from any thread.
  /// `after_launch`: the calling thread has just launched on the stream. Returns null, and keeps the buffer,
  /// while this would change what the program's work waits for: if the stream is being captured, or is the
  /// legacy default stream, not idle, and not `after_launch`. Precondition: may_share() was true for the
  /// launches, none of them is being made, and the stream exists.
  virtual Result<std::unique_ptr<Readback>> read_back_shared(std::unique_ptr<Buffer>& /*buffer*/,
                                                             bool /*after_launch*/) {
    return failure("launches on this device do not share buffers");
  }

  // ---- repeated launches (interposer/trials)

  /// Allocates zeroed device memory for launches on any stream that begin after this point of the launch's
  /// stream. Destroy it only after all work that uses it is over.
  virtual Result<std::unique_ptr<Buffer>> allocate_kept(std::size_t /*bytes*/, const Launch& /*launch*/) {
    return failure("this device does not repeat launches");
  }

  /// Copies between device memory of the program and kept buffers, ordered on the launch's stream.
  virtual Status copy(std::uint64_t /*to*/, std::uint64_t /*from*/, std::size_t /*bytes*/,
                      const Launch& /*launch*/) {
    return failure("this device does not repeat launches");
  }

  /// Waits until all work on the device is over. Returns false if it is not within `patience`, if it has
  /// failed, or if streams of the process may be being captured, which forbids waiting.
  virtual bool is_idle_within(std::chrono::milliseconds /*patience*/, const Launch& /*launch*/) {
    return false;
  }

  /// Returns the state for one executable graph of the program. Fails if the device cannot launch graphs with
  /// variants.
  virtual Result<std::unique_ptr<ProgramGraph>> program_graph();

  /// Returns true while the launch's stream is being captured into a graph. Fails if the stream cannot be
  /// queried, for example because the context has failed.
  virtual Result<bool> capturing(const Launch& launch) = 0;
};

}  // namespace lynxpp::device
