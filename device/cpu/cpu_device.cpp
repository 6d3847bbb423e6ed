// Implements device::Device with the executor; launch sessions run instrumented kernels through it.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "device/cpu/runtime/call_scopes.h"
#include "device/cpu/runtime/checks.h"
#include "device/cpu/runtime/clock.h"
#include "device/cpu/runtime/counters.h"
#include "device/cpu/runtime/devices.h"
#include "device/cpu/runtime/error.h"
#include "device/cpu/runtime/launch.h"
#include "device/cpu/runtime/memory/allocations.h"
#include "device/cpu/runtime/modules/module_variables.h"
#include "device/cpu/runtime/modules/registry.h"
#include "device/cpu/runtime/process_use.h"
#include "device/cpu/runtime/properties.h"
#include "device/cpu/runtime/runtime.h"
#include "device/cpu/runtime/streams.h"
#include "device/cpu/runtime/wanted_checks.h"
#include "device/cpu/simt/execute/executor.h"
#include "device/cpu/simt/execute/occupancy.h"
#include "support/background_thread.h"

namespace lynxpp::device::cpu {
namespace {

/// Never destroyed: launches may come from the program's static destructors.
BoundedMemory& probe_memory() {
  static auto* const memory = new BoundedMemory("memory", free_host_memory);
  return *memory;
}

/// Frees the memory of a probe buffer.
/// At least this much is mapped: the system provides zeros, and commits no page that nobody touches.
constexpr std::size_t least_mapped = std::size_t{1} << 20;

/// Returns null if there is no memory.
void* zeros(std::size_t bytes, std::size_t alignment) {
  if (bytes >= least_mapped) {
    void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mapped == MAP_FAILED ? nullptr : mapped;
  }
  void* const memory = std::aligned_alloc(alignment, bytes);
  if (memory != nullptr) std::memset(memory, 0, bytes);
  return memory;
}

struct FreeMemory {
  std::size_t taken = 0;
  void operator()(void* memory) const {
    cpu::allocations().remove_foreign(memory, MemoryKind::probe);
    if (taken >= least_mapped) {
      ::munmap(memory, taken);
    } else {
      std::free(memory);
    }
    probe_memory().release(taken);
  }
};

struct CpuVariant : Variant {
  std::shared_ptr<LoadedModule> module;
  std::shared_ptr<ModuleVariables> variables;  ///< of the module
  std::string kernel;
  KernelInfo info;
};

/// A launch that has been enqueued.
struct Run {
  OperationPtr operation;                         ///< null if nothing was launched
  std::unique_ptr<std::byte, FreeMemory> memory;  ///< receives the results
  // Valid once the operation is done.
  std::optional<Failure> death;        ///< why there are no results
  std::optional<double> milliseconds;  ///< on the host
  std::optional<models::clock::KernelTime> modelled;
};

struct CpuBuffer : Buffer {
  CpuBuffer(std::byte* memory, std::size_t size, std::size_t taken)
      : Buffer(reinterpret_cast<std::uintptr_t>(memory)), bytes(size) {
    run->memory = std::unique_ptr<std::byte, FreeMemory>(memory, FreeMemory{taken});
  }

  std::size_t bytes;
  std::shared_ptr<Run> run = std::make_shared<Run>();
};

struct CpuHostMemory : HostMemory {
  CpuHostMemory(std::byte* memory, std::size_t size, std::size_t taken)
      : HostMemory({memory, size}), owned(memory, FreeMemory{taken}) {}

  std::unique_ptr<std::byte, FreeMemory> owned;
};

/// Counters that no access has touched are not even in memory.
class CpuCounterMemory : public CounterMemory {
 public:
  CpuCounterMemory(std::byte* memory, std::size_t size, std::size_t taken)
      : CounterMemory(reinterpret_cast<std::uintptr_t>(memory), size), owned_(memory, FreeMemory{taken}) {}

  void launched() override {}
  Result<std::vector<CounterPage>> pages() override {
    constexpr std::size_t bytes_of_page = CounterPage::counters * sizeof(std::uint32_t);
    const auto system_page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> is_resident((bytes() + system_page - 1) / system_page);
    if (::mincore(owned_.get(), bytes(), is_resident.data()) != 0)
      std::ranges::fill(is_resident, static_cast<unsigned char>(1));
    const auto is_touched = [&](std::size_t page) {
      const auto begin =
          is_resident.begin() + static_cast<std::ptrdiff_t>(page * bytes_of_page / system_page);
      const auto end =
          is_resident.begin() + static_cast<std::ptrdiff_t>((page + 1) * bytes_of_page / system_page);
      return begin == end || std::any_of(begin, end, [](unsigned char state) { return (state & 1) != 0; });
    };
    CounterPage untouched;
    untouched.zeros = CounterPage::counters;
    std::vector<CounterPage> summaries(bytes() / bytes_of_page, untouched);
    for (std::size_t i = 0; i < summaries.size(); ++i) {
      const auto* const counters = reinterpret_cast<const std::uint32_t*>(owned_.get() + i * bytes_of_page);
      if (is_touched(i))
        summaries[i] = summary_of(
            std::span<const std::uint32_t, CounterPage::counters>(counters, CounterPage::counters));
    }
    return summaries;
  }
  Status read(std::uint64_t offset, std::span<std::byte> to) override {
    std::memcpy(to.data(), owned_.get() + offset, to.size());
    return success();
  }

 private:
  std::unique_ptr<std::byte, FreeMemory> owned_;
};

/// Device memory is host memory, so nothing is copied.
class CpuReadback : public Readback {
 public:
  CpuReadback(std::shared_ptr<Run> run, std::size_t bytes) : run_(std::move(run)), bytes_(bytes) {}

  bool ready() override { return run_->operation == nullptr || streams().is_done(run_->operation); }
  Result<std::span<std::byte>> wait() override {
    if (run_->operation != nullptr) streams().wait_for(run_->operation);
    if (!ready()) return failure("the program ended while the launch was running");
    if (run_->death) return *run_->death;
    return std::span<std::byte>(run_->memory.get(), bytes_);
  }
  /// Measured and modelled times are not mixed: with a modelled machine, a launch without a modelled time has
  /// none.
  std::optional<double> kernel_milliseconds() override {
    if (modelled_machine() == nullptr) return run_->milliseconds;
    if (!run_->modelled) return std::nullopt;
    return run_->modelled->seconds * 1e3;
  }
  std::optional<double> max_milliseconds() override { return run_->milliseconds; }
  std::optional<ModelledTime> modelled() override {
    if (!run_->modelled) return std::nullopt;
    const models::clock::KernelTime& time = *run_->modelled;
    ModelledTime told{modelled_machine()->name,
                      time.cycles,
                      time.seconds,
                      time.blocks_per_multiprocessor,
                      time.warps_per_multiprocessor,
                      {},
                      0,
                      {},
                      {}};
    for (const models::clock::ChannelCounts& each : time.channels) {
      told.partitions.push_back(each.transactions);
      told.memory_bytes += static_cast<double>(each.bytes);
    }
    if (time.l1) told.l1 = {time.l1->hits, time.l1->misses};
    if (time.l2) told.l2 = {time.l2->hits, time.l2->misses};
    return told;
  }

 private:
  std::shared_ptr<Run> run_;
  std::size_t bytes_;
};

class CpuDevice : public Device {
 public:
  explicit CpuDevice(int number) {
    info_.name = "cpu";
    info_.ordinal = number;
    info_.uuid = device_uuid(number);
    info_.context = static_cast<std::uint64_t>(number) + 1;
    info_.compute_capability = compute_capability();
    info_.keeps_counters = true;
    const models::Machine* const machine = modelled_machine();
    if (machine != nullptr) info_.name = "cpu (times modelled for " + machine->name + ")";
    info_.models_times = machine != nullptr;
    info_.multiprocessors = machine != nullptr ? machine->timing->multiprocessors : multiprocessors();
    info_.sm_id_limit = std::max(info_.multiprocessors, multiprocessors());
    info_.limits = {.threads = threads_per_multiprocessor,
                    .blocks = blocks_per_multiprocessor,
                    .shared_bytes = shared_per_multiprocessor,
                    .reserved_shared_bytes = reserved_shared_per_block,
                    .block_shared_bytes = optin_shared_limit};
  }

  const DeviceInfo& info() const override { return info_; }
  std::shared_ptr<const LiveAllocations> allocations() override { return cpu::allocations().live(); }
  void limit_memory(const MemoryBudget& budget) override { probe_memory().limit(budget); }

  DeviceLimits limits() override {
    const auto attribute = [](cudaDeviceAttr which) {
      return static_cast<std::uint32_t>(device_attribute(which).value_or(0));
    };
    return {0,
            0,
            attribute(cudaDevAttrMaxThreadsPerMultiProcessor),
            attribute(cudaDevAttrMaxBlocksPerMultiprocessor),
            attribute(cudaDevAttrMaxRegistersPerMultiprocessor),
            attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor),
            attribute(cudaDevAttrReservedSharedMemoryPerBlock)};
  }

  std::uint32_t static_shared_bytes(const Launch& launch) override {
    Kernel* kernel = registry().find_kernel(launch.function);
    std::shared_ptr<const LoadedKernel> loaded;
    if (kernel == nullptr || kernel->binary->load(*kernel, info_.ordinal, loaded) != cudaSuccess) return 0;
    return static_cast<std::uint32_t>(loaded->info.static_shared_bytes);
  }

  std::optional<KernelNeeds> needs(const Launch& launch) override {
    Kernel* const kernel = registry().find_kernel(launch.function);
    std::shared_ptr<const LoadedKernel> loaded;
    if (kernel == nullptr || kernel->binary->load(*kernel, info_.ordinal, loaded) != cudaSuccess)
      return std::nullopt;
    return KernelNeeds{0, static_cast<std::uint32_t>(loaded->info.static_shared_bytes)};
  }

  Result<std::unique_ptr<Variant>> load(const std::string& ptx, const std::string& kernel,
                                        const Launch& launch, const VariantTraits& traits) override {
    Result<std::unique_ptr<Variant>> compiled = compile(ptx, kernel, launch);
    if (!compiled) return compiled;
    return load_compiled(std::move(*compiled), ptx, kernel, launch, traits);
  }

  Result<std::unique_ptr<Variant>> compile(const std::string& ptx, const std::string& kernel,
                                           const Launch& launch) override {
    auto module =
        load_module(ptx, "<instrumented " + kernel + ">", cpu::allocations().of_device(info_.ordinal));
    if (!module) return std::move(module.error());
    auto kernel_info = (*module)->kernel(kernel);
    if (!kernel_info) return std::move(kernel_info.error());
    auto variant = std::make_unique<CpuVariant>();
    variant->module = std::move(*module);
    variant->kernel = kernel;
    variant->info = std::move(*kernel_info);
    const CodeKind kind = code_kind(*variant->module, kernel, shape_of(launch));
    if (Status compiled = variant->module->compile(kernel, kind); !compiled) return compiled.error();
    return std::unique_ptr<Variant>(std::move(variant));
  }

  Result<std::unique_ptr<Variant>> load_compiled(std::unique_ptr<Variant> compiled, const std::string&,
                                                 const std::string&, const Launch&,
                                                 const VariantTraits& traits) override {
    auto& variant = static_cast<CpuVariant&>(*compiled);
    if (const auto bytes = std::as_bytes(std::span(traits.variables.addresses)); !bytes.empty()) {
      const auto table = variant.module->variable(traits.variables.name);
      if (!table || table->bytes != bytes.size()) return failure("the variant has no table of variables");
      std::memcpy(table->address, bytes.data(), bytes.size());
    }
    variant.variables = std::make_shared<ModuleVariables>(*variant.module, info_.ordinal);
    return compiled;
  }

  std::optional<std::uint64_t> variable_address(const Launch& launch, const std::string& name) override {
    Kernel* kernel = registry().find_kernel(launch.function);
    if (kernel == nullptr) return std::nullopt;
    const auto storage = Binary::variable_of(*kernel, info_.ordinal, name);
    if (!storage) return std::nullopt;
    return reinterpret_cast<std::uint64_t>(storage->address);
  }

  std::optional<std::uint32_t> resident_blocks(const Launch& launch, const Variant* variant) override {
    std::shared_ptr<const LoadedKernel> loaded;
    if (variant == nullptr) {
      Kernel* kernel = registry().find_kernel(launch.function);
      if (kernel == nullptr || kernel->binary->load(*kernel, info_.ordinal, loaded) != cudaSuccess)
        return std::nullopt;
    }
    const KernelInfo& info =
        variant == nullptr ? loaded->info : static_cast<const CpuVariant*>(variant)->info;
    const auto threads = static_cast<int>(launch.threads_per_block());
    return static_cast<std::uint32_t>(cpu::resident_blocks(info, threads, launch.shared_bytes));
  }

  Result<std::unique_ptr<Buffer>> allocate_zeroed(std::size_t bytes, const Launch&) override {
    const Result<std::byte*> memory = zeroed_memory(bytes);
    if (!memory) return memory.error();
    return std::unique_ptr<Buffer>(std::make_unique<CpuBuffer>(*memory, bytes, rounded(bytes)));
  }

  Result<std::unique_ptr<CounterMemory>> counter_memory(std::uint64_t bytes, const Launch&) override {
    const Result<std::byte*> memory = zeroed_memory(bytes);
    if (!memory) return memory.error();
    return std::unique_ptr<CounterMemory>(std::make_unique<CpuCounterMemory>(*memory, bytes, rounded(bytes)));
  }

  Result<std::unique_ptr<HostMemory>> host_memory(std::size_t bytes) override {
    const Result<std::byte*> memory = zeroed_memory(bytes);
    if (!memory) return memory.error();
    return std::unique_ptr<HostMemory>(std::make_unique<CpuHostMemory>(*memory, bytes, rounded(bytes)));
  }

  Status write(Buffer& buffer, std::uint64_t offset, std::span<const std::byte> bytes,
               const Launch&) override {
    std::memcpy(reinterpret_cast<void*>(buffer.address() + offset), bytes.data(), bytes.size());
    return success();
  }

  Status launch(Variant& variant, const Launch& launch, std::span<const ParameterSlot> slots,
                std::span<const std::uint64_t> probe, Buffer& results) override {
    auto& loaded = static_cast<CpuVariant&>(variant);
    auto buffer = parameter_buffer(launch, slots);
    if (!buffer) {
      // The program's own error, which the original kernel would report, too.
      set_variant_error(cudaErrorInvalidValue);
      return std::move(buffer.error());
    }
    if (!probe.empty()) {
      const std::size_t offset = (buffer->size() + 7) / 8 * 8;
      if (loaded.info.parameters.empty() || loaded.info.parameters.back().offset != offset ||
          loaded.info.parameters.back().bytes != probe.size_bytes()) {
        return failure("the probe parameter of " + loaded.kernel +
                       " is not at the offset that the launch expects");
      }
      buffer->resize(offset + probe.size_bytes());
      std::memcpy(buffer->data() + offset, probe.data(), probe.size_bytes());
    }
    const CountedLaunch counted{loaded.kernel, launch.number, true, shape_of(launch), info_.ordinal, {}};
    return enqueue(static_cast<CpuBuffer&>(results).run, loaded.module, loaded.variables, counted, launch,
                   std::move(*buffer));
  }

  Result<std::unique_ptr<Readback>> read_back(std::unique_ptr<Buffer> buffer, const Launch&) override {
    const auto& written = static_cast<const CpuBuffer&>(*buffer);
    return std::unique_ptr<Readback>(std::make_unique<CpuReadback>(written.run, written.bytes));
  }

  Result<std::unique_ptr<Buffer>> allocate_kept(std::size_t bytes, const Launch& launch) override {
    return allocate_zeroed(bytes, launch);
  }

  Status copy(std::uint64_t to, std::uint64_t from, std::size_t bytes, const Launch& launch) override {
    const cudaError_t error = streams().enqueue(
        static_cast<cudaStream_t>(launch.stream),
        {cudaGraphNodeTypeMemcpy,
         [=] { std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes); },
         nullptr});
    return error == cudaSuccess ? success() : Status(failure(std::string("a copy: ") + error_text(error)));
  }

  bool is_idle_within(std::chrono::milliseconds patience, const Launch&) override {
    const auto wait = [device = info_.ordinal] {
      streams().wait_for_device(device);
      return true;
    };
    return ends_within(patience, wait).value_or(false);
  }

  Result<bool> capturing(const Launch& launch) override {
    return streams().capturing(static_cast<cudaStream_t>(launch.stream));
  }

  /// Returns the resources of the modelled machine, without registers. Without such a machine there are no
  /// limits.
  std::optional<KernelResources> resources(const Launch& launch, const Variant* variant) override {
    const models::Machine* const machine = modelled_machine();
    if (machine == nullptr) return std::nullopt;
    KernelInfo info;
    if (variant != nullptr) {
      info = static_cast<const CpuVariant*>(variant)->info;
    } else {
      Kernel* kernel = registry().find_kernel(launch.function);
      std::shared_ptr<const LoadedKernel> loaded;
      if (kernel == nullptr || kernel->binary->load(*kernel, info_.ordinal, loaded) != cudaSuccess)
        return std::nullopt;
      info = loaded->info;
    }
    const auto threads = static_cast<std::uint32_t>(launch.threads_per_block());
    KernelResources resources;
    resources.shared_bytes = static_cast<std::uint32_t>(info.static_shared_bytes);
    resources.blocks_per_sm = static_cast<std::uint32_t>(
        std::max(0, blocks_of_multiprocessor(info, static_cast<int>(threads), launch.shared_bytes)));
    const std::uint32_t warps = (threads + machine->warp_size - 1) / machine->warp_size;
    resources.warps_per_sm = resources.blocks_per_sm * warps;
    resources.most_warps_per_sm = machine->residency.warps;
    return resources;
  }

  Result<std::unique_ptr<Readback>> launch_original(const Launch& launch) override {
    Kernel* kernel = registry().find_kernel(launch.function);
    std::shared_ptr<const LoadedKernel> loaded;
    if (kernel == nullptr || kernel->binary->load(*kernel, info_.ordinal, loaded) != cudaSuccess)
      return failure("the kernel is not one of the program's");
    std::vector<ParameterSlot> slots;
    for (const auto& parameter : loaded->info.parameters)
      slots.push_back({parameter.offset, parameter.bytes});
    auto buffer = parameter_buffer(launch, slots);
    if (!buffer) return std::move(buffer.error());
    const CodeKind kind = code_kind(*loaded->module, kernel->name, shape_of(launch));
    if (Status compiled = loaded->module->compile(kernel->name, kind); !compiled) return compiled.error();
    const CountedLaunch counted{kernel->name, launch.number, false, shape_of(launch), info_.ordinal, {}};
    auto made = std::make_shared<Run>();
    if (Status enqueued = enqueue(made, loaded->module, nullptr, counted, launch, std::move(*buffer));
        !enqueued)
      return std::move(enqueued.error());
    return std::unique_ptr<Readback>(std::make_unique<CpuReadback>(std::move(made), 0));
  }

 private:
  static constexpr std::size_t alignment = 256;
  /// Bytes of the budget that a buffer of `bytes` takes.
  static std::size_t rounded(std::size_t bytes) { return (bytes / alignment + 1) * alignment; }

  /// Allocates zeroed memory that kernels may access.
  Result<std::byte*> zeroed_memory(std::size_t bytes) const {
    const std::size_t taken = rounded(bytes);
    if (Status fits = probe_memory().reserve(taken); !fits) return fits.error();
    void* const memory = taken > bytes ? zeros(taken, alignment) : nullptr;
    if (memory == nullptr) {
      probe_memory().release(taken);
      return failure("no memory for probe buffers");
    }
    Allocation probe{reinterpret_cast<std::uintptr_t>(memory), bytes, MemoryKind::probe};
    probe.device = info_.ordinal;
    if (bytes != 0) cpu::allocations().add_foreign(probe);
    return static_cast<std::byte*>(memory);
  }

  /// Fails if the stream rejects the launch; the variant error is set to the stream's error.
  static Status enqueue(const std::shared_ptr<Run>& made, std::shared_ptr<LoadedModule> module,
                        std::shared_ptr<ModuleVariables> variables, const CountedLaunch& counted,
                        const Launch& launch, std::vector<std::byte> parameters) {
    made->death = failure("it did not run: an earlier kernel failed");
    const cudaError_t error =
        streams().enqueue(static_cast<cudaStream_t>(launch.stream),
                          {cudaGraphNodeTypeKernel,
                           [made, variables = std::move(variables), module = std::move(module), counted,
                            parameters = std::move(parameters),
                            path = counters_path()] { run(*made, *module, counted, parameters, path); },
                           nullptr},
                          &made->operation);
    set_variant_error(error);
    if (error != cudaSuccess) return failure(std::string("the launch failed: ") + error_text(error));
    return success();
  }

  /// Runs the kernel, records its time, and writes its counters if `path` is set.
  static void run(Run& made, LoadedModule& module, const CountedLaunch& launch,
                  const std::vector<std::byte>& parameters, const std::optional<std::string>& path) {
    const DeviceScope device(launch.device);
    made.death.reset();
    LaunchCounters counters;
    const auto begin = std::chrono::steady_clock::now();
    Status status = launch_with_clock(module, launch.kernel, launch.shape, parameters,
                                      path ? &counters : nullptr, made.modelled);
    made.milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    if (status) {
      if (path) write_counters(*path, launch, counters, made.modelled);
      return;
    }
    set_sticky_error(error_of(status.error()));
    made.death = std::move(status.error());
  }

  DeviceInfo info_;
};

}  // namespace

Device& cpu_device(int number) {
  // Launches may come from the program's static destructors.
  static auto* const devices = [] {
    auto* const made = new std::vector<std::unique_ptr<CpuDevice>>;
    for (int each = 0; each < device_count(); ++each) made->push_back(std::make_unique<CpuDevice>(each));
    return made;
  }();
  return *(*devices)[static_cast<std::size_t>(number)];
}

void save_findings() {
  if (wanted_checks() == nullptr) return;
  hold_program();
  finish_work(std::chrono::milliseconds(0));
}

void finish_work(std::chrono::milliseconds patience) {
  if (is_stranded()) return;
  streams().finish(patience);
  report_checks();
}

}  // namespace lynxpp::device::cpu
