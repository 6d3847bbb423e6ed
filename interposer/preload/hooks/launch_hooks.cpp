// Wrappers of the functions that launch kernels.
#include <cstdint>

#include "interposer/preload/driver.h"
#include "interposer/preload/engine_client.h"
#include "interposer/preload/hooks/capture_hooks.h"
#include "interposer/preload/hooks/module_hooks.h"
#include "interposer/preload/quietly.h"

namespace lynxpp::preload {
namespace {

using LaunchKernel = CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                  unsigned, CUstream, void**, void**);
using LaunchKernelEx = CUresult (*)(const CUlaunchConfig*, CUfunction, void**, void**);
using LaunchCooperativeKernel = CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                                             unsigned, unsigned, CUstream, void**);

constexpr bool per_thread_stream(Slot slot) {
  return slot == Slot::cuLaunchKernel_ptsz || slot == Slot::cuLaunchKernelEx_ptsz ||
         slot == Slot::cuLaunchCooperativeKernel_ptsz;
}

// The function that the program calls is short: if nothing is attached, it is one load and a jump to the
// original. The rest is in its counterpart, seen_…, which is out of line so that the short function needs no
// stack frame.

void set(std::uint32_t (&shape)[3], unsigned x, unsigned y, unsigned z) {
  shape[0] = x;
  shape[1] = y;
  shape[2] = z;
}

/// Sets the fields that all launching calls share. Assigns individual members: clearing the structure first
/// would take a quarter of the time of a launch that no filter selects.
void set_call(lynxpp_launch& launch, Slot slot, CUfunction function, CUstream stream, void** parameters,
              void** extra) {
  launch.function = function;
  launch.kernel = nullptr;
  launch.image = nullptr;
  launch.stream = stream;
  launch.per_thread_stream = per_thread_stream(slot) ? 1 : 0;
  launch.cooperative = 0;
  launch.parameters = parameters;
  launch.extra = extra;
  launch.attributes = nullptr;
  launch.attribute_count = 0;
  launch.cache_config = -1;
  launch.is_context_function = 0;
}

/// Offers the launch to the engine. Returns true if the engine made it.
bool launched_by_engine(lynxpp_launch& launch, int* result) {
  if (Passthrough::active()) return false;
  launch.number = next_launch_number();
  if (!attached()) return false;
  bool launched = false;
  quietly([&] {
    const lynxpp_engine* const engine = attached_engine();
    if (engine == nullptr) return;
    const Passthrough passthrough;
    launch.modules = registry().changes();
    launch.attribute_changes = attribute_changes.load();
    launch.may_be_captured = captures.load() != 0 ? 1 : 0;
    if (const int known = engine->launch_again(&launch, result); known != 0) {
      launched = known == 2;
      return;
    }
    Function function = registry().find_function(launch.function);
    if (function.kernel == nullptr) {
      ask_driver(launch.function);
      function = registry().find_function(launch.function);
    }
    const KernelPtr& kernel = function.kernel;
    launch.kernel = kernel->name.c_str();
    launch.image = kernel->image != nullptr ? &kernel->image->view() : nullptr;
    launch.cache_config = kernel->cache_config;
    launch.is_context_function = function.is_context_function ? 1 : 0;
    launched = engine->launch(&launch, lookup_driver, result) == 1;
  });
  return launched;
}

template <Slot slot, Binding binding>
[[gnu::noinline]] CUresult seen_launch_kernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                              unsigned grid_z, unsigned block_x, unsigned block_y,
                                              unsigned block_z, unsigned shared_bytes, CUstream stream,
                                              void** parameters, void** extra) {
  lynxpp_launch launch;
  set_call(launch, slot, function, stream, parameters, extra);
  set(launch.grid, grid_x, grid_y, grid_z);
  set(launch.block, block_x, block_y, block_z);
  launch.shared_bytes = shared_bytes;
  int result = cuda_success;
  if (launched_by_engine(launch, &result)) return result;
  const Passthrough passthrough;
  return original<slot, binding, LaunchKernel>()(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                                 shared_bytes, stream, parameters, extra);
}

template <Slot slot, Binding binding>
CUresult launch_kernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                       CUstream stream, void** parameters, void** extra) {
  const auto known = known_original<slot, binding, LaunchKernel>();
  const bool is_seen = known == nullptr || attached();
  if (!is_seen) next_launch_number();
  const auto next = is_seen ? seen_launch_kernel<slot, binding> : known;
  return next(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters,
              extra);
}

template <Slot slot, Binding binding>
[[gnu::noinline]] CUresult seen_launch_kernel_ex(const CUlaunchConfig* config, CUfunction function,
                                                 void** parameters, void** extra) {
  if (config != nullptr) {
    lynxpp_launch launch;
    set_call(launch, slot, function, config->hStream, parameters, extra);
    set(launch.grid, config->gridDimX, config->gridDimY, config->gridDimZ);
    set(launch.block, config->blockDimX, config->blockDimY, config->blockDimZ);
    launch.shared_bytes = config->sharedMemBytes;
    launch.attributes = config->attrs;  // includes the attribute for cooperative launches
    launch.attribute_count = config->attrs != nullptr ? config->numAttrs : 0;
    int result = cuda_success;
    if (launched_by_engine(launch, &result)) return result;
  }
  const Passthrough passthrough;
  return original<slot, binding, LaunchKernelEx>()(config, function, parameters, extra);
}

template <Slot slot, Binding binding>
CUresult launch_kernel_ex(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra) {
  const auto known = known_original<slot, binding, LaunchKernelEx>();
  const bool is_seen = known == nullptr || attached();
  if (!is_seen) next_launch_number();
  const auto next = is_seen ? seen_launch_kernel_ex<slot, binding> : known;
  return next(config, function, parameters, extra);
}

template <Slot slot, Binding binding>
[[gnu::noinline]] CUresult seen_launch_cooperative_kernel(CUfunction function, unsigned grid_x,
                                                          unsigned grid_y, unsigned grid_z, unsigned block_x,
                                                          unsigned block_y, unsigned block_z,
                                                          unsigned shared_bytes, CUstream stream,
                                                          void** parameters) {
  lynxpp_launch launch;
  set_call(launch, slot, function, stream, parameters, nullptr);
  set(launch.grid, grid_x, grid_y, grid_z);
  set(launch.block, block_x, block_y, block_z);
  launch.shared_bytes = shared_bytes;
  launch.cooperative = 1;
  int result = cuda_success;
  if (launched_by_engine(launch, &result)) return result;
  const Passthrough passthrough;
  return original<slot, binding, LaunchCooperativeKernel>()(
      function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters);
}

template <Slot slot, Binding binding>
CUresult launch_cooperative_kernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z,
                                   unsigned shared_bytes, CUstream stream, void** parameters) {
  const auto known = known_original<slot, binding, LaunchCooperativeKernel>();
  const bool is_seen = known == nullptr || attached();
  if (!is_seen) next_launch_number();
  const auto next = is_seen ? seen_launch_cooperative_kernel<slot, binding> : known;
  return next(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters);
}

}  // namespace
}  // namespace lynxpp::preload

#define LYNXPP_FAMILY_launches LYNXPP_DEFINE_HOOK
#include "interposer/preload/hooks/define_hooks.h"
