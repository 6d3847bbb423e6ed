// A liblynxpp-engine.so that records the calls of the preload library.
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "interposer/engine_api.h"
#include "tests/interposer/event_log.h"

#ifndef FAKE_ENGINE_ABI
#define FAKE_ENGINE_ABI LYNXPP_ENGINE_ABI
#endif

namespace {

int attach(const char* specifications) {
  log_event("engine attach %s", specifications != nullptr ? specifications : "(null)");
  return specifications != nullptr && strcmp(specifications, "unknown") != 0;
}

const lynxpp_allocation_source* allocations = nullptr;
void use_allocations(const lynxpp_allocation_source* source) { allocations = source; }

/// FAKE_ENGINE_ALLOCATIONS=list: logs each allocation with the file whose code requested it; =count: their
/// number.
void log_allocations() {
  const char* const wanted = getenv("FAKE_ENGINE_ALLOCATIONS");
  if (wanted == nullptr) return;
  static lynxpp_allocation live[10000];
  std::uint64_t version = 0;
  const std::size_t too_few = allocations->copy(live, 0, &version);
  const std::size_t count = allocations->copy(live, sizeof live / sizeof *live, &version);
  const bool changed = version != allocations->version();
  log_event("engine allocations %zu %zu%s", too_few, count, changed ? " changed" : "");
  std::uint64_t last_end = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (live[i].address < last_end) log_event("engine allocations overlap or are out of order");
    last_end = live[i].address + live[i].bytes;
    if (strcmp(wanted, "list") != 0) continue;
    Dl_info info = {};
    const bool known = live[i].depth != 0 && dladdr(live[i].stack[0], &info) != 0;
    const char* const slash = known ? strrchr(info.dli_fname, '/') : nullptr;
    log_event("engine allocation %llu: %llu bytes at 0x%llx kind %u by %s",
              static_cast<unsigned long long>(live[i].number), static_cast<unsigned long long>(live[i].bytes),
              static_cast<unsigned long long>(live[i].address), live[i].kind,
              slash != nullptr ? slash + 1 : "nobody");
  }
}

lynxpp_tensor_box_source tensor_boxes = nullptr;
void use_tensor_boxes(lynxpp_tensor_box_source source) { tensor_boxes = source; }

/// FAKE_ENGINE_BOXES: logs the box of the map that is the first parameter.
void log_box(const lynxpp_launch* launch) {
  if (getenv("FAKE_ENGINE_BOXES") == nullptr) return;
  lynxpp_tensor_box box = {};
  if (tensor_boxes(launch->parameters[0], &box) == 0) return log_event("engine box unknown");
  log_event("engine box of %llu bytes, rank %u%s%s", static_cast<unsigned long long>(box.bytes), box.rank,
            box.is_im2col != 0 ? ", im2col" : "", box.is_dense != 0 ? ", dense" : "");
}

/// FAKE_ENGINE=take: makes the launch itself, with twice the grid, through the real driver.
int launch(const lynxpp_launch* launch, lynxpp_driver_lookup lookup, int* result) {
  log_event(
      "engine launch %s image %zu grid %u %u %u block %u %u %u shared %u stream %p ptsz %d coop %d attr %u",
      launch->kernel, launch->image != nullptr ? launch->image->size : 0, launch->grid[0], launch->grid[1],
      launch->grid[2], launch->block[0], launch->block[1], launch->block[2], launch->shared_bytes,
      launch->stream, launch->per_thread_stream, launch->cooperative, launch->attribute_count);
  log_allocations();
  log_box(launch);
  const char* const mode = getenv("FAKE_ENGINE");
  if (mode == nullptr || strcmp(mode, "take") != 0) return 0;
  using Launch = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                         void**, void**);
  const auto real = reinterpret_cast<Launch>(
      lookup(launch->per_thread_stream != 0 ? "cuLaunchKernel_ptsz" : "cuLaunchKernel"));
  *result = real(launch->function, launch->grid[0] * 2, launch->grid[1], launch->grid[2], launch->block[0],
                 launch->block[1], launch->block[2], launch->shared_bytes, launch->stream, launch->parameters,
                 launch->extra);
  int device = 0;
  reinterpret_cast<int (*)(int*)>(lookup("cuCtxGetDevice"))(&device);
  log_event("engine sees device %d", device);
  reinterpret_cast<int (*)(int*, void*)>(lookup("cuCtxGetDevice_v2"))(&device, nullptr);
  log_event("engine sees device %d", device);
  if (lookup("cuNoSuchFunction") != nullptr) log_event("engine found a function that is not there");
  return 1;
}

void forget_image(std::uint64_t) { log_event("engine forget_image"); }
void save_results(void* context, int device) {
  log_event("engine save_results %s device %d", context != nullptr ? "context" : "no context", device);
}
void collect() { log_event("engine collect"); }
void waited() { log_event("engine waited"); }
lynxpp_seen finish() {
  log_event("engine finish");
  return lynxpp_seen_measured;
}

// Replaces the cpu device's runtime.
int cpu_malloc(void** pointer, std::size_t size) {
  log_event("cpu cudaMalloc %zu", size);
  *pointer = nullptr;
  return 0;
}
int cpu_free(void*) {
  log_event("cpu cudaFree");
  return 0;
}
void** cpu_register(void*) {
  log_event("cpu __cudaRegisterFatBinary");
  return nullptr;
}

int cpu_properties(void*, int) { return log_event("cpu cudaGetDeviceProperties"), 0; }
int cpu_advise() { return log_event("cpu cudaMemAdvise"), 0; }
int cpu_older_advise() { return log_event("cpu cudaMemAdvise of CUDA 12"), 0; }
int cpu_refused() { return log_event("cpu refuses"), 801; }
void* cpu_refusal() { return reinterpret_cast<void*>(&cpu_refused); }

const lynxpp_cpu_function* cpu_functions(int version, std::size_t* count) {
  static const lynxpp_cpu_function older[] = {
      {"__cudaRegisterFatBinary", reinterpret_cast<void*>(&cpu_register)},
      {"cudaFree", reinterpret_cast<void*>(&cpu_free)},
      {"cudaGetDeviceProperties", reinterpret_cast<void*>(&cpu_refused)},
      {"cudaMalloc", reinterpret_cast<void*>(&cpu_malloc)},
      {"cudaMemAdvise", reinterpret_cast<void*>(&cpu_older_advise)},
      {"cudaMemAdvise_v2", reinterpret_cast<void*>(&cpu_advise)},
  };
  if (version < 13) {
    *count = sizeof older / sizeof *older;
    return older;
  }
  static const lynxpp_cpu_function table[] = {
      {"__cudaRegisterFatBinary", reinterpret_cast<void*>(&cpu_register)},
      {"cudaFree", reinterpret_cast<void*>(&cpu_free)},
      {"cudaGetDeviceProperties", reinterpret_cast<void*>(&cpu_properties)},
      {"cudaMalloc", reinterpret_cast<void*>(&cpu_malloc)},
      {"cudaMemAdvise", reinterpret_cast<void*>(&cpu_advise)},
  };
  *count = sizeof table / sizeof *table;
  return table;
}

void use_ranges(lynxpp_range_source) {}
void use_launch_notice(void (*)(lynxpp_seen)) {}
/// FAKE_ENGINE_SERVES_CHILD: behaves like an engine whose process has not used its device.
int serves_child() { return getenv("FAKE_ENGINE_SERVES_CHILD") != nullptr ? 1 : 0; }
void copied(const lynxpp_copy*) {}
void launched_natively(const char* kernel, std::uint64_t launches, const char* way) {
  log_event("engine natively %s %llu %s", kernel, static_cast<unsigned long long>(launches), way);
}

void profile(int on) { log_event("engine profile %d", on); }
int launch_again(const lynxpp_launch*, int*) { return 0; }
/// FAKE_ENGINE=graphs: reads every kernel node of the copy, then makes the program's launch and reports that
/// it ran with variants.
int launch_graph(const lynxpp_graph_launch* launch, lynxpp_driver_lookup lookup, int* result) {
  const char* const mode = getenv("FAKE_ENGINE");
  if (mode == nullptr || strcmp(mode, "graphs") != 0) return 0;
  const auto parameters_of = reinterpret_cast<int (*)(void*, void*)>(lookup("cuGraphKernelNodeGetParams"));
  const auto attribute_of =
      reinterpret_cast<int (*)(void*, int, void*)>(lookup("cuGraphKernelNodeGetAttribute"));
  std::string kernels;
  for (std::size_t i = 0; i < launch->kernel_count; ++i) {
    const lynxpp_graph_kernel& each = launch->kernels[i];
    std::uint64_t parameters[32] = {}, value[8] = {};
    parameters_of(each.node, parameters);
    attribute_of(each.node, 2, value);
    kernels += std::string(" ") + each.kernel + (each.is_enabled != 0 ? "" : "!");
  }
  log_event("engine graph%s", launch->copy != nullptr ? kernels.c_str() : " without a copy");
  if (launch->copy == nullptr) return 0;
  *result = launch->launch_original(launch->executable, launch->stream);
  return 2;
}
void forget_graph(std::uint64_t) { log_event("engine forget_graph"); }

void forget_context(void*) { log_event("engine forget_context"); }
void leave_stream(void*, int is_destroyed) {
  log_event("engine leave_stream %s", is_destroyed != 0 ? "destroyed" : "captured");
}

constexpr lynxpp_engine fake_engine = {.abi = FAKE_ENGINE_ABI,
                                       .use_allocations = use_allocations,
                                       .attach = attach,
                                       .launch = launch,
                                       .forget_image = forget_image,
                                       .save_results = save_results,
                                       .collect = collect,
                                       .waited = waited,
                                       .finish = finish,
                                       .cpu_functions = cpu_functions,
                                       .cpu_refusal = cpu_refusal,
                                       .use_ranges = use_ranges,
                                       .use_tensor_boxes = use_tensor_boxes,
                                       .use_launch_notice = use_launch_notice,
                                       .serves_child = serves_child,
                                       .copied = copied,
                                       .cpu_driver_functions = nullptr,
                                       .launched_natively = launched_natively,
                                       .control = nullptr,
                                       .launch_graph = launch_graph,
                                       .forget_graph = forget_graph,
                                       .profile = profile,
                                       .keep_results = nullptr,
                                       .take_results = nullptr,
                                       .missed_results = nullptr,
                                       .launch_again = launch_again,
                                       .forget_context = forget_context,
                                       .leave_stream = leave_stream};

}  // namespace

extern "C" [[gnu::visibility("default")]] const lynxpp_engine* lynxpp_open_engine(std::uint32_t abi) {
  if (abi != FAKE_ENGINE_ABI) return nullptr;
  log_event("engine opened, LYNXPP_SPEC is %s", getenv("LYNXPP_SPEC") != nullptr ? "set" : "not set");
  return &fake_engine;
}
