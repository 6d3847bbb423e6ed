// The composition root of liblynxpp-engine.so: one session per process, driven by the hooks (CUDA device) or
// by the cpu device's runtime.
#include <pthread.h>

#include <array>
#include <atomic>
#include <memory>

#include "device/cpu/driver/driver.h"
#include "device/cpu/runtime/runtime.h"
#include "interposer/control/answer.h"
#include "interposer/interruption.h"
#include "interposer/launch_notice.h"
#include "interposer/process_engine.h"
#include "interposer/this_process.h"
#include "support/log.h"
#include "support/no_cancellation.h"

namespace lynxpp::interposer {
namespace {

std::atomic<LaunchNotice> launch_notice = nullptr;

/// A function as a thread launched it.
struct Known {
  void* function = nullptr;
  CUcontext context = nullptr;
  device::Device* device = nullptr;
  int cache_config = -1;
  bool is_context_function = false;
  std::uint64_t modules = 0;  ///< lynxpp_launch::modules at that time; likewise below
  std::uint64_t choices = 0;
  std::uint64_t retirements = 0;
  Session::Found found = {};
};

/// Returns the calling thread's slot for a function.
Known& known_place(void* function) {
  static thread_local std::array<Known, 16> places;
  const auto address = reinterpret_cast<std::uintptr_t>(function);
  return places[(address >> 4 ^ address >> 9) % places.size()];
}

/// Runs `body`; a failure inside lynxpp must not reach the host program.
template <typename Body>
auto contained(const char* what, decltype(std::declval<Body>()()) otherwise, Body body) noexcept {
  const NoCancellation uncancelled;
  try {
    return body();
  } catch (const std::exception& error) {
    log().error("internal failure in {}: {}; the original kernel runs", what, error.what());
  } catch (...) {
    log().error("internal failure in {}; the original kernel runs", what);
  }
  return otherwise;
}

/// Per process; reset in a forked child.
std::atomic<bool> is_watched = false;

void watch_for_death() {
  if (is_watched.load(std::memory_order_relaxed) || is_watched.exchange(true)) return;
  save_at_fatal_signals([] {
    contained("an interruption", 0, [] {
      if (Engine* const made = made_engine()) made->session->finish_now();
      device::cpu::save_findings();
      return 0;
    });
  });
}

/// Called before the first launch that may be instrumented.
void watch_measured_launch() {
  if (!is_watched.load(std::memory_order_relaxed) && engine().session->attached()) watch_for_death();
}

void note_launches() {
  const Session& session = *engine().session;
  if (!session.has_seen_launches()) return;
  note_launch(session.has_measured() ? lynxpp_seen_measured : lynxpp_seen_launches, launch_notice.load());
}

bool is_measured(std::string_view kernel) {
  if (engine().has_started()) return true;
  engine().session->launched_natively(kernel, 1, engine().start.outside());
  note_launches();
  return false;
}

/// Launches through the cpu device's runtime.
std::atomic<std::uint64_t> cpu_launches = 0;

bool intercept_cpu_launch(const device::Launch& asked, const device::cpu::KernelIdentity& kernel) {
  const std::uint64_t number = cpu_launches.fetch_add(1, std::memory_order_relaxed);
  return contained("a launch", false, [&] {
    watch_measured_launch();
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
    const bool is_made = engine().session->launch(device::cpu::cpu_device(kernel.device), launch, source);
    note_launches();
    return is_made;
  });
}

void note_cpu_copy(const device::cpu::CopyNotice& copy) {
  contained("a copy", 0, [&] {
    Engine* const telling = engine_with_timeline();
    if (telling == nullptr) return 0;
    telling->session->copied({copy.bytes, copy.to_device, copy.from_device, copy.stream, copy.asynchronous});
    return 0;
  });
}

void copied(const lynxpp_copy* copy) {
  contained("a copy", 0, [&] {
    Engine* const telling = engine_with_timeline();
    if (telling == nullptr) return 0;
    const auto now = telling->live_allocations();
    const auto is_device = [&](std::uint64_t address) {
      const device::LiveAllocation* const found = now->find(address);
      return found != nullptr && found->kind != device::AllocationKind::host &&
             found->kind != device::AllocationKind::registered_host;
    };
    telling->session->copied(
        {copy->bytes, is_device(copy->to), is_device(copy->from), copy->stream, copy->asynchronous != 0});
    return 0;
  });
}

void launched_natively(const char* kernel, uint64_t launches, const char* way) {
  contained("a launch", 0, [&] {
    engine().session->launched_natively(kernel, launches, way);
    note_launches();
    return 0;
  });
}

int control(const char* request, size_t bytes, int is_cpu, uint64_t launches, lynxpp_reply reply,
            void* context) {
  return contained("a request", -1, [&] {
    if (engine().is_refused) {
      const std::string why = refusal("the program's environment has invalid lynxpp settings");
      reply(context, why.data(), why.size());
      return -1;
    }
    const std::string device = is_cpu != 0 ? device::cpu::cpu_device().info().name : "cuda";
    const Answer given =
        answer(*engine().session, {request, bytes}, {device, launches + cpu_launches.load()});
    reply(context, given.text.data(), given.text.size());
    return given.attached ? static_cast<int>(*given.attached) : -1;
  });
}

void profile(int on) { hooks().is_profiled = on != 0; }

void keep_results() {
  engine().results.keep();
  engine().session->measure_each_launch();
}

size_t take_results(lynxpp_take take, void* context) {
  return contained("results for the program", std::size_t{0},
                   [&] { return engine().results.take(take, context); });
}

uint64_t missed_results() { return engine().results.missed(); }

void use_ranges(lynxpp_range_source source) { hooks().ranges.store(source); }

void use_tensor_boxes(lynxpp_tensor_box_source source) { hooks().tensor_boxes.store(source); }

void use_allocations(const lynxpp_allocation_source* source) { hooks().allocations.store(source); }

int attach(const char* specifications) {
  return contained("attach", 0, [&] {
    if (engine().is_refused) return 0;
    std::string problem;
    if (!engine().session->attach(specifications != nullptr ? specifications : "", problem)) {
      // A list that cannot be attached detaches: results must never appear under a name that is no longer
      // requested.
      std::string none;
      engine().session->attach("", none);
      print(problem + "lynxpp: the program runs uninstrumented\n");
    }
    return engine().session->attached() ? 1 : 0;
  });
}

/// `kernel` and `image` come from the hooks.
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
  launch.is_context_function = request.is_context_function != 0;
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
    watch_measured_launch();
    if (!is_measured(request->kernel)) return 0;
    const KernelSource source = source_of(request->kernel, request->image, device->info().compute_capability);
    *result = CUDA_SUCCESS;
    Known now{.function = request->function,
              .device = device,
              .cache_config = request->cache_config,
              .is_context_function = request->is_context_function != 0,
              .modules = request->modules,
              .choices = engine().session->choices(),
              .retirements = engine().contexts.retirements()};
    const bool is_at_once = engine().start.kind == StartCondition::Kind::at_once;
    const bool is_made =
        engine().session->launch(*device, launch_of(*request), source, is_at_once ? &now.found : nullptr);
    note_launches();
    const bool is_found = now.found.unselected != nullptr || now.found.selected != nullptr;
    if (is_found && engine().contexts.driver()->cuCtxGetCurrent(&now.context) == CUDA_SUCCESS)
      known_place(request->function) = now;
    return is_made ? 1 : 0;
  });
}

/// Returns null if the thread has not launched it before or something has changed since.
const Known* known_launch(const lynxpp_launch& launch) {
  const Known& known = known_place(launch.function);
  if (known.function != launch.function || known.modules != launch.modules) return nullptr;
  const Engine& all = engine();
  if (known.choices != all.session->choices() || known.retirements != all.contexts.retirements())
    return nullptr;
  if (known.is_context_function && known.found.unselected != nullptr) return &known;
  CUcontext context = nullptr;
  const bool is_current =
      all.contexts.driver()->cuCtxGetCurrent(&context) == CUDA_SUCCESS && context == known.context;
  return is_current ? &known : nullptr;
}

/// True if the stream is being captured, or if the driver does not report it.
bool is_captured(const lynxpp_launch& launch) {
  auto stream = static_cast<CUstream>(launch.stream);
  if (stream == nullptr) stream = launch.per_thread_stream != 0 ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return engine().contexts.driver()->cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

int launch_again(const lynxpp_launch* launch, int* result) {
  const Known* const known = known_launch(*launch);
  if (known == nullptr) return 0;
  if (known->found.selected != nullptr) {
    return contained("a launch", 1, [&] {
      device::Launch made = launch_of(*launch);
      made.cache_config = known->cache_config;
      made.is_context_function = known->is_context_function;
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
  if (request.copy != nullptr)
    made.copy = {
        request.copy, request.flags, {}, {request.disabled, request.disabled + request.disabled_count}};
  made.may_be_running = request.may_be_running != 0;
  made.in.stream = request.stream;
  made.in.per_thread_stream = request.per_thread_stream != 0;
  made.in.attribute_changes = request.attribute_changes;
  made.in.correlation = request.number;
  for (const lynxpp_graph_kernel& kernel : std::span(request.kernels, request.kernel_count)) {
    made.copy->kernels.push_back(kernel.node);
    made.kernels.push_back(
        {source_of(kernel.kernel, kernel.image, sm), kernel.is_enabled != 0, kernel.cache_config});
  }
  return made;
}

int launch_graph(const lynxpp_graph_launch* request, lynxpp_driver_lookup lookup, int* result) {
  bool is_made = false;  // true if the original was launched and must not be launched again
  const int how = contained("a launch", 0, [&] {
    device::Device* device = engine().current_cuda_device(lookup);
    if (device == nullptr) return 0;
    watch_measured_launch();
    GraphLaunch launch = graph_launch_of(*request, device->info().compute_capability);
    if (!engine().has_started()) launch.outside = engine().start.outside();
    *result = CUDA_SUCCESS;
    launch.launch_original = [&] {
      is_made = true;
      *result = request->launch_original(request->executable, request->stream);
      return *result == CUDA_SUCCESS;
    };
    const GraphLaunched launched = engine().session->launch(*device, launch);
    note_launches();
    switch (launched) {
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
    if (Engine* const made = made_engine()) made->session->forget_graph(id);
    return 0;
  });
}

void forget_image(uint64_t id) {
  contained("forget_image", 0, [&] {
    Engine* const made = made_engine();
    if (made == nullptr) return 0;
    made->session->forget_image(id);
    made->modules.forget(id);
    return 0;
  });
}

void save_results(void* context, int device) {
  contained("save_results", 0, [&] {
    Engine* const made = made_engine();
    if (made == nullptr) return 0;
    const DeviceContexts::Retired ending = made->contexts.retire(static_cast<CUcontext>(context), device);
    made->session->save_results(ending.devices());
    ending.end();
    return 0;
  });
}

void forget_context(void* context) {
  contained("forget_context", 0, [&] {
    Engine* const made = made_engine();
    if (made == nullptr) return 0;
    const DeviceContexts::Retired ended = made->contexts.retire(static_cast<CUcontext>(context), -1);
    ended.end();
    if (!ended.devices().empty()) made->session->save_results(ended.devices());
    return 0;
  });
}

void leave_stream(void* stream, int is_destroyed) {
  contained("leave_stream", 0, [&] {
    if (Engine* const made = made_engine()) made->session->leave_stream(stream, is_destroyed != 0);
    return 0;
  });
}

void collect() {
  contained("collect", 0, [] {
    if (Engine* const made = made_engine()) made->session->collect();
    return 0;
  });
}

void waited() {
  contained("a wait", 0, [] {
    if (Engine* const made = made_engine()) made->session->waited();
    return 0;
  });
}

lynxpp_seen finish() {
  wait_if_terminating();
  const lynxpp_seen seen = contained("finish", lynxpp_seen_none, [] {
    device::cpu::finish_work();
    Engine* const made = made_engine();
    if (made != nullptr) made->session->finish();
    if (made != nullptr && made->session->has_measured()) note_launches();
    if (const lynxpp_seen so_far = seen_launches(); so_far != lynxpp_seen_none) return so_far;
    const bool is_silent = made == nullptr || made->is_of_child || !made->session->wants_table();
    return is_silent ? lynxpp_seen_none : lynxpp_seen_missing;
  });
  wait_if_terminating();
  return seen;
}

void use_launch_notice(LaunchNotice notice) { launch_notice.store(notice); }

std::atomic<bool> child_has_engine = false;

int serves_child() { return child_has_engine.load() ? 1 : 0; }

void begin_in_child() {
  child_has_engine = begin_engine_in_child();
  if (!child_has_engine) return;
  is_watched = false;
  begin_launch_notice_in_child();
}

void begin_process() {
  static const bool has_begun = [] {
    share_launch_notice();
    device::cpu::set_check_observer(&watch_for_death);
    pthread_atfork(nullptr, nullptr, &begin_in_child);
    return true;
  }();
  static_cast<void>(has_begun);
}

const lynxpp_cpu_function* cpu_functions(int version, size_t* count) {
  static_assert(sizeof(lynxpp_cpu_function) == sizeof(device::cpu::ApiFunction));
  device::cpu::set_launch_interceptor(&intercept_cpu_launch);
  device::cpu::set_wait_observer(&waited);
  device::cpu::set_copy_observer(&note_cpu_copy);
  device::cpu::set_profiler_observer([](bool starts) { hooks().is_profiled = starts; });
  const std::span<const device::cpu::ApiFunction> functions =
      version < 13 ? device::cpu::older_runtime_api(version) : device::cpu::runtime_api();
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
    .waited = &waited,
    .finish = &finish,
    .cpu_functions = &cpu_functions,
    .cpu_refusal = &device::cpu::unknown_function,
    .use_ranges = &use_ranges,
    .use_tensor_boxes = &use_tensor_boxes,
    .use_launch_notice = &use_launch_notice,
    .serves_child = &serves_child,
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
    .forget_context = &forget_context,
    .leave_stream = &leave_stream,
};

}  // namespace
}  // namespace lynxpp::interposer

extern "C" __attribute__((visibility("default"))) const lynxpp_engine* lynxpp_open_engine(uint32_t abi) {
  if (abi != LYNXPP_ENGINE_ABI) return nullptr;
  lynxpp::interposer::begin_process();
  return &lynxpp::interposer::table;
}
