#include "device/cuda/cuda_device.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "device/cuda/arena.h"
#include "device/cuda/counter_memory.h"
#include "device/cuda/cuda_graph.h"
#include "device/cuda/our_calls.h"
#include "device/cuda/pool.h"
#include "device/cuda/readback.h"
#include "device/cuda/register_limit.h"
#include "device/cuda/residency.h"
#include "device/cuda/stream_hold.h"
#include "device/cuda/variable_table.h"
#include "device/cuda/variant.h"
#include "device/uuid.h"
#include "support/background_thread.h"
#include "support/log.h"

namespace lynxpp::device::cuda {
namespace {

class CudaBuffer final : public Buffer {
 public:
  CudaBuffer(Pool& pool, const Pool::Block& memory, std::size_t used, CUstream of_launch)
      : Buffer(memory.address), block(memory), bytes(used), stream(of_launch), pool_(pool) {}
  ~CudaBuffer() override {
    pool_.free_device_memory(block, stream);
    pool_.release_pinned_memory(pinned);
  }

  /// Transfers the memory to the readback, which keeps it until the launch is over.
  LaunchMemory take(CUevent done) {
    return {std::exchange(block, {}), std::exchange(pinned, {}), bytes, done};
  }

  Pool::Block block;
  Pool::Block pinned;  ///< destination of the readback
  std::size_t bytes;
  CUstream stream;
  LaunchEvents timing;
  StreamHold::Hold hold;

 private:
  Pool& pool_;
};

/// Device memory that any stream uses.
class KeptBuffer final : public Buffer {
 public:
  KeptBuffer(Pool& pool, const Pool::Block& memory) : Buffer(memory.address), block_(memory), pool_(pool) {}
  ~KeptBuffer() override { pool_.release_device_memory(block_); }

 private:
  Pool::Block block_;
  Pool& pool_;
};

class CudaHostMemory final : public HostMemory {
 public:
  CudaHostMemory(Pool& pool, const Pool::Block& memory, std::size_t size)
      : HostMemory({reinterpret_cast<std::byte*>(memory.address), size}), block_(memory), pool_(pool) {}
  ~CudaHostMemory() override { pool_.release_pinned_memory(block_); }

 private:
  Pool::Block block_;
  Pool& pool_;
};

/// The calls of one launch, made in the program's context.
class LaunchCallGroup final : public CallGroup {
 public:
  explicit LaunchCallGroup(const Driver& driver) : relaxed_(driver) {}

 private:
  const CaptureRelaxed relaxed_;
};

class CudaDevice final : public Device {
 public:
  CudaDevice(const Driver& driver, CUcontext context, DeviceInfo info, std::uint32_t warps_per_sm,
             AllocationSource source)
      : driver_(driver),
        info_(std::move(info)),
        warps_per_sm_(warps_per_sm),
        source_(std::move(source)),
        pool_(driver, context),
        arenas_(driver, pool_),
        counters_(driver, pool_),
        hold_(driver) {}

  const DeviceInfo& info() const override { return info_; }
  std::shared_ptr<const LiveAllocations> allocations() override {
    return source_ ? source_() : std::make_shared<const LiveAllocations>();
  }
  void measure_kernels(KernelTimes how) override { times_ = how; }
  void limit_memory(const MemoryBudget& budget) override { pool_.limit(budget); }
  std::unique_ptr<CallGroup> call_group() override { return std::make_unique<LaunchCallGroup>(driver_); }

  DeviceLimits limits() override {
    const auto attribute = [&](CUdevice_attribute id) {
      int value = 0;
      driver_.cuDeviceGetAttribute(&value, id, info_.ordinal);
      return static_cast<std::uint32_t>(value);
    };
    return {attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
            attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH),
            attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
            attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR),
            attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
            attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
            attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK)};
  }

  std::optional<KernelResources> resources(const Launch& launch, const Variant* variant) override {
    const CaptureRelaxed relaxed(driver_);
    const CUfunction function =
        variant != nullptr ? static_cast<const CudaVariant*>(variant)->function() : original_function(launch);
    const auto attribute = [&](CUfunction_attribute id) {
      int value = 0;
      driver_.cuFuncGetAttribute(&value, id, function);
      return static_cast<std::uint32_t>(value);
    };
    const auto threads = static_cast<int>(launch.threads_per_block());
    int blocks = 0;
    // With more dynamic shared memory than the function is allowed, no block fits.
    if (variant != nullptr) (void)static_cast<const CudaVariant*>(variant)->allow_shared(launch.shared_bytes);
    if (driver_.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads,
                                                            launch.shared_bytes) != CUDA_SUCCESS) {
      return std::nullopt;
    }
    KernelResources resources;
    resources.registers = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
    resources.local_bytes = attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    resources.shared_bytes = attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    resources.blocks_per_sm = static_cast<std::uint32_t>(blocks);
    resources.warps_per_sm = resources.blocks_per_sm * static_cast<std::uint32_t>((threads + 31) / 32);
    resources.most_warps_per_sm = warps_per_sm_;
    return resources;
  }

  std::optional<KernelNeeds> needs(const Launch& launch) override {
    const CaptureRelaxed relaxed(driver_);
    const CUfunction function = original_function(launch);
    int registers = 0, shared_bytes = 0;
    if (driver_.cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function) != CUDA_SUCCESS ||
        driver_.cuFuncGetAttribute(&shared_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function) !=
            CUDA_SUCCESS)
      return std::nullopt;
    return KernelNeeds{static_cast<std::uint32_t>(registers), static_cast<std::uint32_t>(shared_bytes)};
  }

  Result<std::unique_ptr<Readback>> launch_original(const Launch& launch) override {
    const CaptureRelaxed relaxed(driver_);
    const CUfunction function = original_function(launch);
    // Load the kernel now: lazy loading between the events would count as kernel time.
    int registers = 0;
    driver_.cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
    StreamHold::Hold hold;
    if (times_ == KernelTimes::alone) hold = hold_.hold(stream_of(launch));
    LaunchEvents timing;
    const Status submitted = submit(function, launch, launch.parameters, launch.extra, &timing);
    hold.release();
    if (!submitted) {
      pool_.release(timing.begin);
      pool_.release(timing.end);
      return submitted.error();
    }
    return make_timed_launch(driver_, pool_, timing);
  }

  Result<std::unique_ptr<Variant>> load(const std::string& ptx, const std::string& kernel,
                                        const Launch& launch, const VariantTraits& traits) override {
    Result<std::unique_ptr<Variant>> compiled = compile(ptx, kernel, launch);
    if (!compiled) return compiled;
    return load_compiled(std::move(*compiled), ptx, kernel, launch, traits);
  }

  Result<std::unique_ptr<Variant>> compile(const std::string& ptx, const std::string& kernel,
                                           const Launch&) override {
    const InContext ours(driver_, pool_.context());
    Result<std::unique_ptr<CudaVariant>> variant = compile_limited({ptx, kernel, {}, {}}, 0);
    if (!variant) return variant.error();
    return std::unique_ptr<Variant>(std::move(*variant));
  }

  Result<std::unique_ptr<Variant>> load_compiled(std::unique_ptr<Variant> compiled, const std::string& ptx,
                                                 const std::string& kernel, const Launch& launch,
                                                 const VariantTraits& traits) override {
    const CaptureRelaxed relaxed(driver_);
    VariantText text{ptx, kernel, traits.directives, traits.variables};
    std::unique_ptr<CudaVariant> variant(static_cast<CudaVariant*>(compiled.release()));
    if (Status written = write_table(driver_, pool_, variant->module(), text.variables); !written)
      return written.error();
    const CUfunction function = original_function(launch);
    // Every block size that the original allows must remain possible.
    int wanted = 0;
    driver_.cuFuncGetAttribute(&wanted, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
    if (variant->max_threads < wanted) {
      const unsigned registers = 65536u / static_cast<unsigned>((wanted + 31) / 32 * 32) / 8 * 8;
      Result<std::unique_ptr<CudaVariant>> smaller = load_limited(text, registers);
      if (smaller) variant = std::move(*smaller);
    } else if (ptx.size() <= longest_text_with_limits && ptx.find("setmaxnreg") == std::string::npos) {
      // setmaxnreg adjusts the register count that ptxas chose.
      choose_registers(variant, text, launch, traits.kept_registers);
    }
    Residency& residency = variant->residency;
    residency.text = std::move(text);
    residency.may_wait = traits.may_wait_for_blocks;
    variant->wants_time_bound = traits.wants_time_bound;
    return std::unique_ptr<Variant>(std::move(variant));
  }

  std::optional<std::uint64_t> variable_address(const Launch& launch, const std::string& name) override {
    const CaptureRelaxed relaxed(driver_);
    CUmodule module = nullptr;
    if (driver_.cuFuncGetModule(&module, original_function(launch)) != CUDA_SUCCESS) return std::nullopt;
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    if (driver_.cuModuleGetGlobal(&address, &bytes, module, name.c_str()) != CUDA_SUCCESS)
      return std::nullopt;
    return address;
  }

  Result<std::unique_ptr<Buffer>> allocate_zeroed(std::size_t bytes, const Launch& launch) override {
    const CUstream stream = stream_of(launch);
    if (times_ == KernelTimes::off) {
      Result<Arenas::Part> part = arenas_.take(bytes, stream);
      if (!part) return part.error();
      return make_buffer(driver_, pool_, std::move(*part), stream);
    }
    const CaptureRelaxed relaxed(driver_);
    // Measured launches clear and copy their buffer on their own stream, so that this time is measured, too.
    const Result<Pool::Block> block = pool_.device_memory(bytes, stream);
    if (!block) return block.error();
    auto buffer = std::make_unique<CudaBuffer>(pool_, *block, bytes, stream);
    const Result<Pool::Block> pinned = pool_.pinned_memory(bytes);
    if (!pinned) return pinned.error();
    buffer->pinned = *pinned;
    if (times_ == KernelTimes::alone) buffer->hold = hold_.hold(stream);
    buffer->timing.cleared_from = pool_.recorded_event(stream);
    const CUresult result = driver_.cuMemsetD8Async(block->address, 0, bytes, stream);
    if (result != CUDA_SUCCESS) return driver_.error("cuMemsetD8Async", result);
    return std::unique_ptr<Buffer>(std::move(buffer));
  }

  Result<std::unique_ptr<CounterMemory>> counter_memory(std::uint64_t bytes, const Launch& launch) override {
    const CaptureRelaxed relaxed(driver_);
    return counters_.make(bytes, stream_of(launch));
  }

  /// Pinned memory has one address for the host and, with unified addressing, for every device.
  Result<std::unique_ptr<HostMemory>> host_memory(std::size_t bytes) override {
    const CaptureRelaxed relaxed(driver_);
    const Result<Pool::Block> block = pool_.pinned_memory(bytes);
    if (!block) return block.error();
    std::memset(reinterpret_cast<void*>(block->address), 0, bytes);
    return std::unique_ptr<HostMemory>(std::make_unique<CudaHostMemory>(pool_, *block, bytes));
  }

  Status write(Buffer& buffer, std::uint64_t offset, std::span<const std::byte> bytes,
               const Launch& launch) override {
    const CaptureRelaxed relaxed(driver_);
    if (times_ == KernelTimes::off) note_use(buffer);
    // The source is pageable: the driver has copied it when the call returns.
    const CUresult result =
        driver_.cuMemcpyHtoDAsync(buffer.address() + offset, bytes.data(), bytes.size(), stream_of(launch));
    return result == CUDA_SUCCESS ? success() : Status(driver_.error("cuMemcpyHtoDAsync", result));
  }

  Status launch(Variant& variant, const Launch& launch, std::span<const ParameterSlot> slots,
                std::span<const std::uint64_t> probe, Buffer& buffer) override {
    const Result<CudaVariant*> chosen = resident_variant(static_cast<CudaVariant&>(variant), launch);
    if (!chosen) return chosen.error();
    CudaVariant& loaded = **chosen;
    if (Status followed = follow(loaded, launch); !followed) return followed;
    if (Status admitted = loaded.admit(launch); !admitted) return admitted;
    if (static_cast<CudaVariant&>(variant).wants_time_bound && times_ == KernelTimes::off) note_begin(buffer);
    auto* const hidden = probe.empty() ? nullptr : const_cast<std::uint64_t*>(probe.data());
    std::array<void*, 64> few;
    if (launch.parameters != nullptr && slots.size() < few.size()) {
      *std::copy_n(launch.parameters, slots.size(), few.begin()) = hidden;
      return submit_variant(loaded, launch, few.data(), buffer);
    }
    Result<std::vector<void*>> parameters = parameters_of(launch, slots);
    if (!parameters) return parameters.error();
    parameters->push_back(hidden);
    return submit_variant(loaded, launch, parameters->data(), buffer);
  }

  Result<std::unique_ptr<Readback>> read_back(std::unique_ptr<Buffer> buffer, const Launch& launch) override {
    if (times_ == KernelTimes::off) return cuda::read_back(std::move(buffer));
    const CaptureRelaxed relaxed(driver_);
    const CUstream stream = stream_of(launch);
    auto& written = static_cast<CudaBuffer&>(*buffer);
    const CUresult result = driver_.cuMemcpyDtoHAsync(reinterpret_cast<void*>(written.pinned.address),
                                                      written.address(), written.bytes, stream);
    // Record the event even if the copy failed: the kernel may be running.
    const CUevent done = pool_.recorded_event(stream);
    written.hold.release();
    Status copied = success();
    if (result != CUDA_SUCCESS) copied = driver_.error("cuMemcpyDtoHAsync", result);
    auto readback = make_readback(driver_, pool_, written.take(done), written.timing, std::move(copied));
    if (done == nullptr) return failure("cannot record an event after the launch");
    return readback;
  }

  /// The handle CU_STREAM_PER_THREAD names a different stream in every thread.
  bool may_share(const Launch& launch) override {
    return times_ == KernelTimes::off && stream_of(launch) != CU_STREAM_PER_THREAD;
  }

  Result<std::unique_ptr<Readback>> read_back_shared(std::unique_ptr<Buffer>& buffer,
                                                     bool after_launch) override {
    return cuda::read_back_shared(buffer, after_launch);
  }

  Result<std::unique_ptr<Buffer>> allocate_kept(std::size_t bytes, const Launch& launch) override {
    const CaptureRelaxed relaxed(driver_);
    const CUstream stream = stream_of(launch);
    const Result<Pool::Block> block = pool_.device_memory(bytes, stream);
    if (!block) return block.error();
    auto buffer = std::make_unique<KeptBuffer>(pool_, *block);
    const CUresult result = driver_.cuMemsetD8Async(block->address, 0, bytes, stream);
    if (result != CUDA_SUCCESS) return driver_.error("cuMemsetD8Async", result);
    return std::unique_ptr<Buffer>(std::move(buffer));
  }

  Status copy(std::uint64_t to, std::uint64_t from, std::size_t bytes, const Launch& launch) override {
    if (driver_.cuMemcpyDtoDAsync == nullptr) return failure("the driver has no cuMemcpyDtoDAsync");
    const CaptureRelaxed relaxed(driver_);
    const CUresult result = driver_.cuMemcpyDtoDAsync(to, from, bytes, stream_of(launch));
    return result == CUDA_SUCCESS ? success() : Status(driver_.error("cuMemcpyDtoDAsync", result));
  }

  bool is_idle_within(std::chrono::milliseconds patience, const Launch& launch) override {
    if (driver_.cuCtxSynchronize == nullptr || launch.may_be_captured) return false;
    const auto synchronize = [&driver = driver_, context = pool_.context()] {
      const InContext ours(driver, context);
      return driver.cuCtxSynchronize() == CUDA_SUCCESS;
    };
    return ends_within(patience, synchronize).value_or(false);
  }

  Result<std::unique_ptr<ProgramGraph>> program_graph() override {
    return make_program_graph(driver_, pool_, [this](CudaVariant& variant, const Launch& launch) {
      Result<CudaVariant*> chosen = resident_variant(variant, launch);
      if (!chosen) return chosen;
      if (Status followed = follow(**chosen, launch); !followed)
        return Result<CudaVariant*>(followed.error());
      return chosen;
    });
  }

  Result<bool> capturing(const Launch& launch) override {
    if (!launch.may_be_captured) return false;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult result = driver_.cuStreamIsCapturing(stream_of(launch), &status);
    if (result != CUDA_SUCCESS) return driver_.error("cuStreamIsCapturing", result);
    return status != CU_STREAM_CAPTURE_STATUS_NONE;
  }

 private:
  /// Recompiles the variant with another register limit if ptxas used more registers than occupancy allows,
  /// or fewer than it could have used.
  void choose_registers(std::unique_ptr<CudaVariant>& variant, const VariantText& text, const Launch& launch,
                        std::uint32_t kept_registers) {
    if (!variant->allow_shared(launch.shared_bytes)) return;
    const std::optional<KernelResources> original = resources(launch, nullptr);
    const std::optional<KernelResources> unlimited = resources(launch, variant.get());
    if (!original || !unlimited) return;
    const KernelResources filled = filled_by(launch.blocks(), info_.multiprocessors, *original);
    const auto use = [&](std::uint32_t limit, const auto& is_worth) {
      Result<std::unique_ptr<CudaVariant>> other = load_limited(text, limit);
      if (!other || !(*other)->allow_shared(launch.shared_bytes)) return false;
      const std::optional<KernelResources> limited = resources(launch, other->get());
      if (!limited || !is_worth(**other, *limited)) return false;
      variant = std::move(*other);
      return true;
    };
    for (const std::uint32_t limit : register_limits(filled, *unlimited)) {
      const auto is_worth = [&](const CudaVariant&, const KernelResources& limited) {
        return pays_off(limited, *unlimited);
      };
      if (use(limit, is_worth)) return;
    }
    // A later cooperative launch may fill the device.
    if (launch.cooperative) return;
    const std::uint32_t roomier = raised_register_limit(filled, *unlimited, kept_registers);
    if (roomier == 0) return;
    use(roomier,
        [&, threads = variant->max_threads](const CudaVariant& other, const KernelResources& limited) {
          return limited.warps_per_sm >= filled.warps_per_sm && other.max_threads >= threads;
        });
  }

  Status submit_variant(const CudaVariant& variant, const Launch& launch, void** parameters, Buffer& buffer) {
    const bool is_timed = times_ != KernelTimes::off;
    const Status submitted = submit(variant.function(), launch, parameters, nullptr,
                                    is_timed ? &static_cast<CudaBuffer&>(buffer).timing : nullptr);
    if (submitted && !is_timed) note_use(buffer);
    return submitted;
  }

  Status follow(CudaVariant& variant, const Launch& launch) const {
    const bool is_followed = variant.followed_changes.load() == launch.attribute_changes;
    return variant.follow(is_followed ? nullptr : original_function(launch), launch);
  }

  /// Returns the variant, or one with fewer registers if all thread blocks of the original are resident at
  /// once and may wait for each other. Fails if no variant keeps all blocks resident.
  Result<CudaVariant*> resident_variant(CudaVariant& variant, const Launch& launch) {
    Residency& residency = variant.residency;
    if (!is_cooperative(launch) && !residency.may_wait) return &variant;
    const CaptureRelaxed relaxed(driver_);
    const std::lock_guard lock(residency.mutex);
    const std::optional<Occupancy> found = occupancy_of(variant, launch);
    const auto hold = [&](std::uint64_t blocks) { return blocks * info_.multiprocessors >= launch.blocks(); };
    if (!found || !hold(found->original) || hold(found->variant)) return &variant;
    CudaVariant* const narrow = narrow_variant(residency, residency_limit(launch, info_.multiprocessors));
    if (narrow != nullptr && narrow->allow_shared(launch.shared_bytes)) {
      const std::optional<KernelResources> resources_of_narrow = resources(launch, narrow);
      if (resources_of_narrow && hold(resources_of_narrow->blocks_per_sm)) return narrow;
    }
    return failure(
        "all " + std::to_string(launch.blocks()) +
        " thread blocks of this launch are resident at once and may wait for each other, but fewer blocks of "
        "the instrumented kernel fit");
  }

  /// Compiles a variant for the limit, once per limit; null if that fails. Precondition of this and
  /// occupancy_of(): the residency's mutex is held.
  CudaVariant* narrow_variant(Residency& residency, std::uint32_t limit) {
    if (limit == 0) return nullptr;
    for (const auto& [made_for, variant] : residency.narrow) {
      if (made_for == limit) return variant.get();
    }
    Result<std::unique_ptr<CudaVariant>> made = load_limited(residency.text, limit);
    auto& kept = residency.narrow.emplace_back(limit, made ? std::move(*made) : nullptr);
    return kept.second.get();
  }

  /// Queries each launch shape once.
  std::optional<Occupancy> occupancy_of(CudaVariant& variant, const Launch& launch) {
    Residency& residency = variant.residency;
    for (const Occupancy& each : residency.known) {
      if (each.threads == launch.threads_per_block() && each.shared_bytes == launch.shared_bytes) return each;
    }
    if (!variant.allow_shared(launch.shared_bytes)) return std::nullopt;
    const std::optional<KernelResources> original = resources(launch, nullptr);
    const std::optional<KernelResources> ours = resources(launch, &variant);
    if (!original || !ours) return std::nullopt;
    residency.known.push_back(
        {launch.threads_per_block(), launch.shared_bytes, original->blocks_per_sm, ours->blocks_per_sm});
    return residency.known.back();
  }

  /// Returns the current context's function. A handle known to be a CUfunction is not queried as a CUkernel:
  /// tools that report failed driver calls (compute-sanitizer) would report the query.
  CUfunction original_function(const Launch& launch) const {
    CUfunction function = nullptr;
    if (!launch.is_context_function &&
        driver_.cuKernelGetFunction(&function, static_cast<CUkernel>(launch.function)) == CUDA_SUCCESS)
      return function;
    return static_cast<CUfunction>(launch.function);
  }

  Result<std::unique_ptr<CudaVariant>> load_limited(const VariantText& text, unsigned registers) {
    Result<std::unique_ptr<CudaVariant>> made = compile_limited(text, registers);
    if (!made) return made;
    if (Status written = write_table(driver_, pool_, (*made)->module(), text.variables); !written)
      return written.error();
    return made;
  }

  /// Compiles with a register limit (0: none), given twice: the directive limits the kernel, the option its
  /// callees.
  Result<std::unique_ptr<CudaVariant>> compile_limited(const VariantText& text, unsigned registers) {
    std::array<char, 4096> log{};
    std::vector<CUjit_option> options{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    std::vector<void*> values{log.data(), reinterpret_cast<void*>(log.size())};
    if (registers != 0) {
      options.push_back(CU_JIT_MAX_REGISTERS);
      values.push_back(reinterpret_cast<void*>(static_cast<std::uintptr_t>(registers)));
    }
    const std::string limited =
        registers == 0 ? std::string() : with_register_limit(text.ptx, text.directives, registers);
    const std::string& ptx = registers == 0 ? text.ptx : limited;
    CUmodule module = nullptr;
    CUresult result = driver_.cuModuleLoadDataEx(&module, ptx.c_str(), static_cast<unsigned>(options.size()),
                                                 options.data(), values.data());
    if (result != CUDA_SUCCESS) {
      Failure problem = driver_.error("cuModuleLoadDataEx", result);
      if (log[0] != '\0') problem.diagnostics.front().message += ": " + first_line_of(log.data());
      return problem;
    }
    CUfunction function = nullptr;
    result = driver_.cuModuleGetFunction(&function, module, text.kernel.c_str());
    if (result != CUDA_SUCCESS) {
      driver_.cuModuleUnload(module);
      return driver_.error("cuModuleGetFunction", result);
    }
    auto variant = std::make_unique<CudaVariant>(driver_, pool_.context(), module, function);
    driver_.cuFuncGetAttribute(&variant->max_threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
    int shared_limit = variant->dynamic_shared_limit;
    driver_.cuFuncGetAttribute(&shared_limit, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function);
    variant->dynamic_shared_limit = shared_limit;
    return variant;
  }

  /// `timing` receives events around the kernel; null: not measured.
  Status submit(CUfunction function, const Launch& launch, void** parameters, void** extra,
                LaunchEvents* timing) {
    std::vector<CUlaunchAttribute> attributes;
    if (launch.attribute_count != 0) {
      const auto* given = static_cast<const CUlaunchAttribute*>(launch.attributes);
      attributes.assign(given, given + launch.attribute_count);
    }
    if (launch.cooperative) {
      CUlaunchAttribute cooperative{};
      cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
      cooperative.value.cooperative = 1;
      attributes.push_back(cooperative);
    }
    CUlaunchConfig config{};
    config.gridDimX = launch.grid[0];
    config.gridDimY = launch.grid[1];
    config.gridDimZ = launch.grid[2];
    config.blockDimX = launch.block[0];
    config.blockDimY = launch.block[1];
    config.blockDimZ = launch.block[2];
    config.sharedMemBytes = launch.shared_bytes;
    config.hStream = stream_of(launch);
    config.attrs = attributes.data();
    config.numAttrs = static_cast<unsigned>(attributes.size());
    if (timing != nullptr) timing->begin = pool_.recorded_event(config.hStream);
    const CUresult result = driver_.cuLaunchKernelEx(&config, function, parameters, extra);
    if (timing != nullptr) timing->end = pool_.recorded_event(config.hStream);
    if (result != CUDA_SUCCESS) return driver_.error("cuLaunchKernelEx", result);
    return success();
  }

  const Driver& driver_;
  DeviceInfo info_;
  std::uint32_t warps_per_sm_;
  AllocationSource source_;
  Pool pool_;
  Arenas arenas_;
  CounterMemories counters_;
  KernelTimes times_ = KernelTimes::off;
  StreamHold hold_;
};

/// Reads the device's limits through `attribute`; nullopt if the driver does not report them.
template <typename Attribute>
std::optional<MultiprocessorLimits> limits_of(const Attribute& attribute, int compute_capability) {
  const auto limit = [&](CUdevice_attribute id) { return static_cast<std::uint32_t>(attribute(id)); };
  MultiprocessorLimits limits;
  limits.threads = limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  limits.blocks = limit(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  limits.registers = limit(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  limits.shared_bytes = limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  limits.shared_unit = compute_capability < 80 ? 256 : 128;
  limits.reserved_shared_bytes = limit(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  limits.block_shared_bytes = limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  if (limits.threads == 0 || limits.blocks == 0 || limits.shared_bytes == 0) return std::nullopt;
  return limits;
}

}  // namespace

Result<std::unique_ptr<Device>> make_device(const Driver& driver, AllocationSource source,
                                            bool models_times) {
  CUcontext context = nullptr;
  CUdevice device = 0;
  if (driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr ||
      driver.cuCtxGetDevice(&device) != CUDA_SUCCESS) {
    return failure("no CUDA context is current");
  }
  DeviceInfo info;
  std::array<char, 256> name{};
  driver.cuDeviceGetName(name.data(), static_cast<int>(name.size()), device);
  const auto attribute = [&](CUdevice_attribute id) {
    int value = 0;
    driver.cuDeviceGetAttribute(&value, id, device);
    return value;
  };
  info.name = driver.is_cpu_device ? "cpu" : name.data();
  info.ordinal = device;
  unsigned long long context_number = 0;
  if (driver.cuCtxGetId(context, &context_number) == CUDA_SUCCESS) info.context = context_number;
  CUuuid uuid = {};
  if (driver.cuDeviceGetUuid(&uuid, device) == CUDA_SUCCESS)
    info.uuid = text_of_uuid(std::as_bytes(std::span(uuid.bytes)));
  info.contracts = info.compiles_slowly = !driver.is_cpu_device;
  info.models_times = models_times;
  info.compute_capability = 10 * attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                            attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  // The cpu device's memory is the host's. The kernel that summarises counters needs sm_70.
  info.keeps_counters = !driver.is_cpu_device && info.compute_capability >= 70;
  info.multiprocessors = static_cast<std::uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  info.sm_id_limit = info.multiprocessors;
  info.clock_khz = static_cast<std::uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE));
  info.limits = limits_of(attribute, info.compute_capability);
  const auto warps_per_sm =
      static_cast<std::uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / 32);
  return std::unique_ptr<Device>(
      std::make_unique<CudaDevice>(driver, context, std::move(info), warps_per_sm, std::move(source)));
}

}  // namespace lynxpp::device::cuda
