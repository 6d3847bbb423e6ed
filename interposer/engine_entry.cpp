// The composition root of liblynxpp-engine.so: one session for the process, fed by the hooks (cuda device) or
// by the cpu device's runtime.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include "device/cpu/driver/driver.h"
#include "device/cpu/runtime/runtime.h"
#include "device/cuda/cuda_device.h"
#include "interposer/allocations.h"
#include "interposer/configuration.h"
#include "interposer/control/answer.h"
#include "interposer/engine_api.h"
#include "interposer/interruption.h"
#include "interposer/output_path.h"
#include "interposer/program_modules.h"
#include "interposer/results/results_queue.h"
#include "interposer/session/session.h"
#include "interposer/this_process.h"
#include "report/cluster/device_files.h"
#include "support/log.h"
#include "support/write_signals.h"

namespace lynxpp::interposer {
namespace {

void print(const std::string& text) {
  const WriteSignalsBlocked blocked;
  std::fprintf(stderr, "lynxpp: %s", text.c_str());
}

/// What the hooks keep. Told before anything else; the engine itself is made when it is first used.
std::atomic<const lynxpp_allocation_source*> allocation_source = nullptr;

std::atomic<lynxpp_range_source> range_source = nullptr;

/// Between cuProfilerStart and cuProfilerStop.
std::atomic<bool> is_profiled = false;

/// Functions of LYNXPP_RANGE_FUNCTION enclose what the hooks know of.
RangeReader range_reader() {
  const char* const functions = std::getenv("LYNXPP_RANGE_FUNCTION");
  return [functions = std::string(functions != nullptr ? functions : "")] {
    std::vector<std::string> ranges;
    if (!functions.empty()) ranges = function_ranges(functions);
    const lynxpp_range_source source = range_source.load();
    if (source == nullptr) return ranges;
    std::array<char, 512> few;
    const std::size_t size = source(few.data(), few.size());
    if (size == 0) return ranges;
    std::string text(few.data(), std::min(size, few.size()));
    if (size > few.size()) {
      text.assign(size, '\0');
      text.resize(std::min(size, source(text.data(), size)));
    }
    for (std::string& range : ranges_of(text)) ranges.push_back(std::move(range));
    return ranges;
  };
}

/// In which a thread's last launch was.
struct LastDevice {
  unsigned long long context = 0;  ///< its id
  device::Device* device = nullptr;
  std::uint64_t retirements = 0;  ///< when it was found
};

/// A function as a thread has launched it.
struct Known {
  void* function = nullptr;
  CUcontext context = nullptr;
  device::Device* device = nullptr;
  int cache_config = -1;
  bool is_of_one_context = false;
  std::uint64_t modules = 0;  ///< lynxpp_launch::modules then; the next two likewise
  std::uint64_t choices = 0;
  std::uint64_t retirements = 0;
  Session::Found found = {};
};

/// Where the calling thread keeps that of a function.
Known& known_place(void* function) {
  static thread_local std::array<Known, 16> places;
  const auto address = reinterpret_cast<std::uintptr_t>(function);
  return places[(address >> 4 ^ address >> 9) % places.size()];
}

/// Null: it cannot be written, which has been said.
std::unique_ptr<report::Sink> open_records(const std::string& pattern, std::uint64_t device) {
  const Result<std::string> path = expand_output_path(pattern, device);
  std::unique_ptr<report::Sink> sink = path ? report::make_json_lines_sink(*path) : nullptr;
  if (!path) {
    print("error: " + path.error().diagnostics.front().message + "\n");
  } else if (sink == nullptr) {
    print("error: cannot write LYNXPP_OUTPUT '" + *path + "'\n");
  }
  return sink;
}

std::unique_ptr<report::Sink> records_sink(const std::string& pattern) {
  if (!names_device(pattern)) return open_records(pattern, 0);
  return report::make_device_files([pattern](std::uint64_t device) { return open_records(pattern, device); });
}

/// Lives until the process ends: host programs launch kernels from the destructors of their static objects.
struct Engine {
  ResultsQueue results;
  std::unique_ptr<Session> session;
  ProgramModules modules;
  device::KernelTimes times = device::KernelTimes::off;
  device::MemoryBudget memory;
  StartCondition start;
  RangeReader ranges = range_reader();
  bool is_refused = false;                     // the environment asks for what nobody understands
  std::atomic<std::uint64_t> retirements = 0;  // calls of retire()
  std::mutex mutex;                            // guards what follows
  std::shared_ptr<AllocationReader> allocations;
  std::unique_ptr<device::cuda::Driver> driver;
  std::map<unsigned long long, std::unique_ptr<device::Device>> devices;  // by context id
  std::vector<std::unique_ptr<device::Device>> ended;  // another thread may be launching on one of them

  Engine() {
    Diagnostics problems;
    Configuration configuration = read_configuration(problems);
    is_refused = !problems.empty();
    if (is_refused) print(render(problems) + "lynxpp: the program runs uninstrumented\n");
    std::vector<std::unique_ptr<report::Sink>> sinks;
    if (!configuration.times_only() && configuration.prints_table) sinks.push_back(report::make_table_sink());
    if (!configuration.output.empty()) sinks.push_back(records_sink(configuration.output));
    sinks.push_back(results.sink());
    times = configuration.kernel_times();
    memory = configuration.memory;
    start = configuration.start;
    std::unique_ptr<report::Sink> all = report::make_tee(std::move(sinks));
    all->process(describe_process());
    session = std::make_unique<Session>(std::move(configuration), std::move(all));
    session->use_ranges(ranges);
  }

  /// Whether a launch of this thread is to be measured now.
  bool has_started() const {
    if (start.kind == StartCondition::Kind::at_once) return true;
    if (start.kind == StartCondition::Kind::profiler) return is_profiled;
    const std::vector<std::string> now = ranges();
    return std::ranges::find(now, start.range) != now.end();
  }

  /// One for all devices. Precondition: `mutex` is held.
  device::cuda::AllocationSource allocation_reader() {
    if (allocations == nullptr) allocations = std::make_shared<AllocationReader>(allocation_source.load());
    return [reader = allocations] { return reader->read(); };
  }

  std::shared_ptr<const device::LiveAllocations> live_allocations() {
    const std::lock_guard lock(mutex);
    return allocation_reader()();
  }

  /// Of the thread's context. Without the lock where the thread's last launch was in the same one.
  device::Device* current_cuda_device(lynxpp_driver_lookup lookup) {
    static thread_local LastDevice last;
    CUcontext context = nullptr;
    unsigned long long id = 0;
    const std::uint64_t retirements_now = retirements.load(std::memory_order_acquire);
    if (last.device != nullptr && last.retirements == retirements_now &&
        driver->cuCtxGetCurrent(&context) == CUDA_SUCCESS && context != nullptr &&
        driver->cuCtxGetId(context, &id) == CUDA_SUCCESS && id == last.context) {
      return last.device;
    }
    last.device = find_cuda_device(lookup, last.context);
    last.retirements = retirements_now;
    return last.device;
  }

  /// Tells the context's id, too.
  device::Device* find_cuda_device(lynxpp_driver_lookup lookup, unsigned long long& id) {
    const std::lock_guard lock(mutex);
    if (driver == nullptr) {
      Result<device::cuda::Driver> loaded = device::cuda::Driver::load(lookup);
      if (!loaded) {
        log().error("{}", loaded.error().diagnostics.front().message);
        return nullptr;
      }
      driver = std::make_unique<device::cuda::Driver>(*loaded);
    }
    CUcontext context = nullptr;
    if (driver->cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr) return nullptr;
    if (driver->cuCtxGetId(context, &id) != CUDA_SUCCESS) return nullptr;
    std::unique_ptr<device::Device>& slot = devices[id];
    if (slot == nullptr) {
      Result<std::unique_ptr<device::Device>> made = device::cuda::make_device(*driver, allocation_reader());
      if (!made) return nullptr;
      slot = std::move(*made);
      slot->measure_kernels(times);
      slot->limit_memory(memory);
    }
    return slot.get();
  }

  /// The devices of a context, or of all contexts of the device of this number, are no longer found for new
  /// launches.
  std::vector<const device::Device*> retire(CUcontext context, int ordinal) {
    const std::lock_guard lock(mutex);
    std::vector<const device::Device*> retired;
    retirements.fetch_add(1, std::memory_order_release);
    unsigned long long id = 0;
    const bool has_id =
        context != nullptr && driver != nullptr && driver->cuCtxGetId(context, &id) == CUDA_SUCCESS;
    for (auto entry = devices.begin(); entry != devices.end();) {
      const bool ends = context != nullptr
                            ? has_id && entry->first == id
                            : entry->second != nullptr && entry->second->info().ordinal == ordinal;
      if (!ends) {
        ++entry;
        continue;
      }
      retired.push_back(entry->second.get());
      ended.push_back(std::move(entry->second));
      entry = devices.erase(entry);
    }
    return retired;
  }

  /// The text of the image's module that defines `kernel`.
  Result<KernelPtx> module_text(const lynxpp_image* image, const std::string& kernel, int sm) {
    if (image == nullptr) return failure("its module was loaded before lynxpp could see it, or from a file");
    const std::span bytes(static_cast<const std::byte*>(image->bytes), image->size);
    return modules.text_of(kernel, image->id, bytes, sm);
  }
};

Engine& engine() {
  static Engine* const instance = new Engine;
  return *instance;
}

/// Runs `body`; a failure inside lynxpp must not reach the host program.
template <typename Body>
auto contained(const char* what, decltype(std::declval<Body>()()) otherwise, Body body) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    log().error("internal failure in {}: {}; the original kernel runs", what, error.what());
  } catch (...) {
    log().error("internal failure in {}; the original kernel runs", what);
  }
  return otherwise;
}

/// Before the first launch that may be instrumented.
void watch_for_death() {
  static std::atomic<bool> is_watched = false;
  if (is_watched.load(std::memory_order_relaxed) || !engine().session->attached() ||
      is_watched.exchange(true))
    return;
  save_before_dying([] {
    contained("an interruption", 0, [] {
      engine().session->finish_now();
      return 0;
    });
  });
}

bool is_measured(std::string_view kernel) {
  if (engine().has_started()) return true;
  engine().session->launched_natively(kernel, 1, engine().start.outside());
  return false;
}

bool intercept_cpu_launch(const device::Launch& asked, const device::cpu::KernelIdentity& kernel) {
  static std::atomic<std::uint64_t> launches = 0;
  const std::uint64_t number = launches.fetch_add(1, std::memory_order_relaxed);
  return contained("a launch", false, [&] {
    watch_for_death();
    if (!is_measured(*kernel.name)) return false;
    [[maybe_unused]] static const bool is_limited = [] {
      device::cpu::cpu_device().limit_memory(engine().memory);
      return true;
    }();
    device::Launch launch = asked;
    launch.correlation = number;
    KernelSource source;
    source.name = *kernel.name;
    source.image = reinterpret_cast<std::uintptr_t>(kernel.ptx);
    source.content = [&] { return name_of(std::as_bytes(std::span(*kernel.ptx))); };
    source.ptx = [&]() -> Result<KernelPtx> {
      return KernelPtx{*kernel.ptx, std::string(kernel.ptx_origin)};
    };
    return engine().session->launch(device::cpu::cpu_device(kernel.device), launch, source);
  });
}

void note_cpu_copy(const device::cpu::CopyNotice& copy) {
  contained("a copy", 0, [&] {
    engine().session->copied({copy.bytes, copy.to_device, copy.from_device, copy.stream, copy.asynchronous});
    return 0;
  });
}

void copied(const lynxpp_copy* copy) {
  contained("a copy", 0, [&] {
    if (!engine().session->has_timeline()) return 0;
    const auto now = engine().live_allocations();
    const auto is_device = [&](std::uint64_t address) {
      const device::LiveAllocation* const found = now->find(address);
      return found != nullptr && found->kind != device::AllocationKind::host &&
             found->kind != device::AllocationKind::registered_host;
    };
    engine().session->copied(
        {copy->bytes, is_device(copy->to), is_device(copy->from), copy->stream, copy->asynchronous != 0});
    return 0;
  });
}

void launched_natively(const char* kernel, uint64_t launches, const char* way) {
  contained("a launch", 0, [&] {
    engine().session->launched_natively(kernel, launches, way);
    return 0;
  });
}

int control(const char* request, size_t bytes, int is_cpu, lynxpp_reply reply, void* context) {
  return contained("a request", -1, [&] {
    if (engine().is_refused) {
      const std::string why = refusal("the program's environment asks for what is not understood");
      reply(context, why.data(), why.size());
      return -1;
    }
    const std::string device = is_cpu != 0 ? device::cpu::cpu_device().info().name : "cuda";
    const Answer given = answer(*engine().session, {request, bytes}, device);
    reply(context, given.text.data(), given.text.size());
    return given.attached ? static_cast<int>(*given.attached) : -1;
  });
}

void profile(int on) { is_profiled = on != 0; }

void keep_results() { engine().results.keep(); }

size_t take_results(lynxpp_take take, void* context) {
  return contained("results for the program", std::size_t{0},
                   [&] { return engine().results.take(take, context); });
}

uint64_t missed_results() { return engine().results.missed(); }

void use_ranges(lynxpp_range_source source) { range_source.store(source); }

void use_allocations(const lynxpp_allocation_source* source) { allocation_source.store(source); }

int attach(const char* specifications) {
  return contained("attach", 0, [&] {
    if (engine().is_refused) return 0;
    std::string problem;
    if (!engine().session->attach(specifications != nullptr ? specifications : "", problem)) {
      // A list that cannot be attached detaches: never numbers under a name the user no longer asks for.
      std::string none;
      engine().session->attach("", none);
      print(problem + "lynxpp: the program runs uninstrumented\n");
    }
    return engine().session->attached() ? 1 : 0;
  });
}

/// `kernel` and `image` are the hooks'.
KernelSource source_of(const char* kernel, const lynxpp_image* image, int sm) {
  KernelSource source;
  source.name = kernel;
  if (image != nullptr) {
    source.image = image->id;
    source.content = [image] { return name_of({static_cast<const std::byte*>(image->bytes), image->size}); };
  }
  source.ptx = [kernel, image, sm] { return engine().module_text(image, kernel, sm); };
  return source;
}

device::Launch launch_of(const lynxpp_launch& request) {
  device::Launch launch;
  launch.function = request.function;
  std::copy(std::begin(request.grid), std::end(request.grid), launch.grid);
  std::copy(std::begin(request.block), std::end(request.block), launch.block);
  launch.shared_bytes = request.shared_bytes;
  launch.stream = request.stream;
  launch.per_thread_stream = request.per_thread_stream != 0;
  launch.cooperative = request.cooperative != 0;
  launch.parameters = request.parameters;
  launch.extra = request.extra;
  launch.attributes = request.attributes;
  launch.attribute_count = request.attribute_count;
  launch.cache_config = request.cache_config;
  launch.attribute_changes = request.attribute_changes;
  launch.correlation = request.number;
  launch.may_be_captured = request.may_be_captured != 0;
  return launch;
}

int launch(const lynxpp_launch* request, lynxpp_driver_lookup lookup, int* result) {
  return contained("a launch", 0, [&] {
    device::Device* device = engine().current_cuda_device(lookup);
    if (device == nullptr) return 0;
    watch_for_death();
    if (!is_measured(request->kernel)) return 0;
    const KernelSource source = source_of(request->kernel, request->image, device->info().compute_capability);
    *result = CUDA_SUCCESS;
    Known now{.function = request->function,
              .device = device,
              .cache_config = request->cache_config,
              .is_of_one_context = request->is_of_one_context != 0,
              .modules = request->modules,
              .choices = engine().session->choices(),
              .retirements = engine().retirements.load(std::memory_order_acquire)};
    const bool is_at_once = engine().start.kind == StartCondition::Kind::at_once;
    const bool is_made =
        engine().session->launch(*device, launch_of(*request), source, is_at_once ? &now.found : nullptr);
    const bool is_found = now.found.unselected != nullptr || now.found.selected != nullptr;
    if (is_found && engine().driver->cuCtxGetCurrent(&now.context) == CUDA_SUCCESS)
      known_place(request->function) = now;
    return is_made ? 1 : 0;
  });
}

/// Null: the thread has not launched it before, or something has changed since.
const Known* known_launch(const lynxpp_launch& launch) {
  const Known& known = known_place(launch.function);
  if (known.function != launch.function || known.modules != launch.modules) return nullptr;
  const Engine& all = engine();
  if (known.choices != all.session->choices() ||
      known.retirements != all.retirements.load(std::memory_order_acquire))
    return nullptr;
  if (known.is_of_one_context && known.found.unselected != nullptr) return &known;
  CUcontext context = nullptr;
  const bool is_current = all.driver->cuCtxGetCurrent(&context) == CUDA_SUCCESS && context == known.context;
  return is_current ? &known : nullptr;
}

/// Or the driver does not say.
bool is_captured(const lynxpp_launch& launch) {
  auto stream = static_cast<CUstream>(launch.stream);
  if (stream == nullptr) stream = launch.per_thread_stream != 0 ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return engine().driver->cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

int launch_again(const lynxpp_launch* launch, int* result) {
  const Known* const known = known_launch(*launch);
  if (known == nullptr) return 0;
  if (known->found.selected != nullptr) {
    return contained("a launch", 1, [&] {
      device::Launch made = launch_of(*launch);
      made.cache_config = known->cache_config;
      *result = CUDA_SUCCESS;
      const std::optional<bool> is_made = engine().session->launch_again(*known->device, made, known->found);
      return !is_made ? 0 : *is_made ? 2 : 1;
    });
  }
  if (launch->may_be_captured != 0 && is_captured(*launch)) return 0;
  known->found.unselected->fetch_add(1, std::memory_order_relaxed);
  return 1;
}

GraphLaunch graph_launch_of(const lynxpp_graph_launch& request, int sm) {
  GraphLaunch made;
  made.id = request.id;
  made.version = request.version;
  made.copy = {request.copy, request.flags, {request.disabled, request.disabled + request.disabled_count}};
  made.may_be_running = request.may_be_running != 0;
  made.in.stream = request.stream;
  made.in.per_thread_stream = request.per_thread_stream != 0;
  made.in.attribute_changes = request.attribute_changes;
  made.in.correlation = request.number;
  for (const lynxpp_graph_kernel& kernel : std::span(request.kernels, request.kernel_count)) {
    made.kernels.push_back({kernel.node, source_of(kernel.kernel, kernel.image, sm), kernel.is_enabled != 0,
                            kernel.cache_config});
  }
  return made;
}

int launch_graph(const lynxpp_graph_launch* request, lynxpp_driver_lookup lookup, int* result) {
  bool is_made = false;  // the original, which is not to be launched twice
  const int how = contained("a launch", 0, [&] {
    device::Device* device = engine().current_cuda_device(lookup);
    if (device == nullptr) return 0;
    watch_for_death();
    GraphLaunch launch = graph_launch_of(*request, device->info().compute_capability);
    if (!engine().has_started()) launch.outside = engine().start.outside();
    *result = CUDA_SUCCESS;
    launch.launch_original = [&] {
      is_made = true;
      *result = request->launch_original(request->executable, request->stream);
      return *result == CUDA_SUCCESS;
    };
    switch (engine().session->launch(*device, launch)) {
      case GraphLaunched::no: break;
      case GraphLaunched::original: return 1;
      case GraphLaunched::variants: return 2;
    }
    return 0;
  });
  return how == 0 && is_made ? 1 : how;
}

void forget_graph(uint64_t id) {
  contained("forget_graph", 0, [&] {
    engine().session->forget_graph(id);
    return 0;
  });
}

void forget_image(uint64_t id) {
  contained("forget_image", 0, [&] {
    engine().session->forget_image(id);
    engine().modules.forget(id);
    return 0;
  });
}

void save_results(void* context, int device) {
  contained("save_results", 0, [&] {
    engine().session->save_results(engine().retire(static_cast<CUcontext>(context), device));
    return 0;
  });
}

void collect() {
  contained("collect", 0, [] {
    engine().session->collect();
    return 0;
  });
}

int finish() {
  wait_when_dying();
  const int launched = contained("finish", 0, [] {
    device::cpu::finish_work();
    engine().session->finish();
    return engine().session->has_seen_launches() ? 1 : 0;
  });
  wait_when_dying();
  return launched;
}

const lynxpp_cpu_function* cpu_functions(size_t* count) {
  static_assert(sizeof(lynxpp_cpu_function) == sizeof(device::cpu::ApiFunction));
  device::cpu::set_launch_interceptor(&intercept_cpu_launch);
  device::cpu::set_wait_observer(&collect);
  device::cpu::set_copy_observer(&note_cpu_copy);
  device::cpu::set_profiler_observer([](bool starts) { is_profiled = starts; });
  const std::span<const device::cpu::ApiFunction> functions = device::cpu::runtime_api();
  *count = functions.size();
  return reinterpret_cast<const lynxpp_cpu_function*>(functions.data());
}

const lynxpp_cpu_function* cpu_driver_functions(size_t* count) {
  const std::span<const device::cpu::ApiFunction> functions = device::cpu::driver_functions();
  *count = functions.size();
  return reinterpret_cast<const lynxpp_cpu_function*>(functions.data());
}

constexpr lynxpp_engine table{
    .abi = LYNXPP_ENGINE_ABI,
    .use_allocations = &use_allocations,
    .attach = &attach,
    .launch = &launch,
    .forget_image = &forget_image,
    .save_results = &save_results,
    .collect = &collect,
    .finish = &finish,
    .cpu_functions = &cpu_functions,
    .cpu_refusal = &device::cpu::unknown_function,
    .use_ranges = &use_ranges,
    .copied = &copied,
    .cpu_driver_functions = &cpu_driver_functions,
    .launched_natively = &launched_natively,
    .control = &control,
    .launch_graph = &launch_graph,
    .forget_graph = &forget_graph,
    .profile = &profile,
    .keep_results = &keep_results,
    .take_results = &take_results,
    .missed_results = &missed_results,
    .launch_again = &launch_again,
};

}  // namespace
}  // namespace lynxpp::interposer

extern "C" __attribute__((visibility("default"))) const lynxpp_engine* lynxpp_open_engine(uint32_t abi) {
  return abi == LYNXPP_ENGINE_ABI ? &lynxpp::interposer::table : nullptr;
}
