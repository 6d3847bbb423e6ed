// device::Device over the executor: what the launch session uses to run instrumented variants of the
// program's kernels.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "device/cpu/runtime/allocations.h"
#include "device/cpu/runtime/counters.h"
#include "device/cpu/runtime/launch.h"
#include "device/cpu/runtime/module_variables.h"
#include "device/cpu/runtime/registry.h"
#include "device/cpu/runtime/runtime.h"
#include "device/cpu/simt/execute/executor.h"

namespace lynxpp::device::cpu {
namespace {

/// Of a probe buffer.
struct FreeMemory {
  void operator()(void* memory) const {
    cpu::allocations().remove_foreign(memory, MemoryKind::probe);
    std::free(memory);
  }
};

struct CpuVariant : Variant {
  std::shared_ptr<LoadedModule> module;
  std::unique_ptr<ModuleVariables> variables;  ///< the module's
  std::string kernel;
  KernelInfo info;
};

/// The launch is over when a readback is asked for, and device memory is host memory: nothing to wait for,
/// nothing to copy.
class CpuReadback : public Readback {
 public:
  CpuReadback(std::uint64_t address, std::size_t bytes)
      : memory_(reinterpret_cast<std::byte*>(address)), bytes_(bytes) {}
  /// The launch died: its results are not to be read.
  void set_failure(Failure failure) { failure_ = std::move(failure); }
  void set_milliseconds(double milliseconds) { milliseconds_ = milliseconds; }

  bool ready() override { return true; }
  Result<std::span<std::byte>> wait() override {
    if (failure_) return *failure_;
    return std::span<std::byte>(memory_.get(), bytes_);
  }
  std::optional<double> kernel_milliseconds() override { return milliseconds_; }

 private:
  std::optional<Failure> failure_;
  std::optional<double> milliseconds_;
  std::unique_ptr<std::byte, FreeMemory> memory_;
  std::size_t bytes_;
};

class CpuDevice : public Device {
 public:
  CpuDevice() {
    info_.name = "cpu";
    info_.compute_capability = compute_capability;
    info_.multiprocessors = multiprocessors();
    info_.sm_id_limit = multiprocessors();
  }

  const DeviceInfo& info() const override { return info_; }
  std::shared_ptr<const LiveAllocations> allocations() override { return cpu::allocations().live(); }

  Result<std::unique_ptr<Variant>> load(const std::string& ptx, const std::string& kernel, const Launch&,
                                        std::uint32_t) override {
    auto module = load_module(ptx, "<instrumented " + kernel + ">", cpu::allocations());
    if (!module) return std::move(module.error());
    auto kernel_info = (*module)->kernel(kernel);
    if (!kernel_info) return std::move(kernel_info.error());
    auto variant = std::make_unique<CpuVariant>();
    variant->module = std::move(*module);
    variant->variables = std::make_unique<ModuleVariables>(*variant->module);
    variant->kernel = kernel;
    variant->info = std::move(*kernel_info);
    if (Status compiled = variant->module->compile(kernel, counters_path().has_value()); !compiled)
      return compiled.error();
    return std::unique_ptr<Variant>(std::move(variant));
  }

  std::optional<std::uint64_t> variable_address(void* original_function, const std::string& name) override {
    Kernel* kernel = registry().find_kernel(original_function);
    if (kernel == nullptr) return std::nullopt;
    const auto storage = Binary::variable_of(*kernel, name);
    if (!storage) return std::nullopt;
    return reinterpret_cast<std::uint64_t>(storage->address);
  }

  Result<std::uint64_t> allocate_zeroed(std::size_t bytes, const Launch&) override {
    constexpr std::size_t alignment = 256;
    const std::size_t rounded = (bytes / alignment + 1) * alignment;
    void* memory = rounded > bytes ? std::aligned_alloc(alignment, rounded) : nullptr;
    if (memory == nullptr)
      return failure("cannot allocate " + std::to_string(bytes) + " bytes for probe buffers");
    std::memset(memory, 0, rounded);
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    if (bytes != 0) cpu::allocations().add_foreign({address, bytes, MemoryKind::probe});
    return static_cast<std::uint64_t>(address);
  }

  Status write(std::uint64_t address, std::span<const std::byte> bytes, const Launch&) override {
    std::memcpy(reinterpret_cast<void*>(address), bytes.data(), bytes.size());
    return success();
  }

  Status launch(Variant& variant, const Launch& launch, std::span<const ParameterSlot> slots,
                std::span<const std::uint64_t> probe) override {
    auto& loaded = static_cast<CpuVariant&>(variant);
    auto buffer = parameter_buffer(launch, slots);
    if (!buffer) {
      // The program's own mistake: what it would have met without the variant.
      set_variant_error(cudaErrorInvalidValue);
      return std::move(buffer.error());
    }
    if (!probe.empty()) {
      const std::size_t offset = (buffer->size() + 7) / 8 * 8;
      if (loaded.info.parameters.empty() || loaded.info.parameters.back().offset != offset ||
          loaded.info.parameters.back().bytes != probe.size_bytes()) {
        return failure("the probe parameter of " + loaded.kernel + " is not where the launch would put it");
      }
      buffer->resize(offset + probe.size_bytes());
      std::memcpy(buffer->data() + offset, probe.data(), probe.size_bytes());
    }
    const CountedLaunch counted{loaded.kernel, launch.number, true, shape_of(launch)};
    Status status = run(*loaded.module, counted, *buffer);
    const cudaError_t error = status ? cudaSuccess : error_of(status.error());
    set_variant_error(error);
    // A kernel that ran and died must not run again as the original; one that could not be compiled may.
    if (is_death(error)) {
      death_ = std::move(status.error());
      return success();
    }
    return status;
  }

  Result<std::unique_ptr<Readback>> read_back_and_free(std::uint64_t address, std::size_t bytes,
                                                       const Launch&) override {
    auto readback = std::make_unique<CpuReadback>(address, bytes);
    if (death_) readback->set_failure(*std::exchange(death_, std::nullopt));
    readback->set_milliseconds(milliseconds_);
    return std::unique_ptr<Readback>(std::move(readback));
  }

  Result<bool> capturing(const Launch&) override { return false; }

  Result<std::unique_ptr<Readback>> launch_original(const Launch& launch) override {
    Kernel* kernel = registry().find_kernel(launch.function);
    std::shared_ptr<const LoadedKernel> loaded;
    if (kernel == nullptr || kernel->binary->load(*kernel, loaded) != cudaSuccess)
      return failure("the kernel is not one of the program's");
    std::vector<ParameterSlot> slots;
    for (const auto& parameter : loaded->info.parameters)
      slots.push_back({parameter.offset, parameter.bytes});
    auto buffer = parameter_buffer(launch, slots);
    if (!buffer) return std::move(buffer.error());
    if (Status compiled = loaded->module->compile(kernel->name, counters_path().has_value()); !compiled)
      return compiled.error();
    const CountedLaunch counted{kernel->name, launch.number, false, shape_of(launch)};
    Status status = run(*loaded->module, counted, *buffer);
    set_variant_error(status ? cudaSuccess : error_of(status.error()));
    auto readback = std::make_unique<CpuReadback>(0, 0);
    if (!status) readback->set_failure(std::move(status.error()));
    readback->set_milliseconds(milliseconds_);
    return std::unique_ptr<Readback>(std::move(readback));
  }

 private:
  static LaunchShape shape_of(const Launch& launch) {
    return {{launch.grid[0], launch.grid[1], launch.grid[2]},
            {launch.block[0], launch.block[1], launch.block[2]},
            launch.shared_bytes};
  }

  /// Runs the kernel, keeps the time it took, and writes what it counted where that is wanted.
  static Status run(LoadedModule& module, const CountedLaunch& launch,
                    const std::vector<std::byte>& parameters) {
    const auto path = counters_path();
    LaunchCounters counters;
    const auto begin = std::chrono::steady_clock::now();
    Status status = module.launch(launch.kernel, launch.shape, parameters, path ? &counters : nullptr);
    milliseconds_ =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    if (status && path) write_counters(*path, launch, counters);
    return status;
  }

  DeviceInfo info_;
  static thread_local std::optional<Failure> death_;  // of this thread's last launch, until its readback
  static thread_local double milliseconds_;           // that it took
};

thread_local double CpuDevice::milliseconds_ = 0;
thread_local std::optional<Failure> CpuDevice::death_;

}  // namespace

Device& cpu_device() {
  static auto* const device = new CpuDevice;  // launches may come from the program's static destructors
  return *device;
}

}  // namespace lynxpp::device::cpu
