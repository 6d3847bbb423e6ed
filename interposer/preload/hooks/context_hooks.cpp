// Wrappers of the functions that end contexts.
#include <atomic>
#include <cstdint>

#include "interposer/preload/allocations.h"
#include "interposer/preload/driver.h"
#include "interposer/preload/engine_client.h"
#include "interposer/preload/graphs.h"
#include "interposer/preload/hooks/graph_hooks.h"
#include "interposer/preload/hooks/module_hooks.h"
#include "interposer/preload/quietly.h"
#include "interposer/preload/registry.h"

namespace lynxpp::preload {
namespace {

using ContextDestroy = CUresult (*)(CUcontext);
using PrimaryContextEnd = CUresult (*)(CUdevice);

/// Called before a context with results ends.
void save_results(CUcontext context, CUdevice device) {
  const lynxpp_engine* const engine = opened_engine();
  if (engine == nullptr || Passthrough::active()) return;
  const Passthrough passthrough;
  quietly([&] { engine->save_results(context, device); });
}

/// Forgets everything that belongs to a context that is about to end: its handles become invalid.
Registry::Removed forget_context(CUcontext context) {
  Registry::Removed removed;
  if (context == nullptr || Passthrough::active()) return removed;
  const Passthrough passthrough;
  quietly([&] {
    for (const ExecutableGraphPtr& graph : graphs().remove_all_of(context)) forget_graph(*graph);
    removed = registry().remove_context(context);
    forget_in_engine(removed);
  });
  return removed;
}

template <Slot slot, Binding binding>
CUresult context_destroy(CUcontext context) {
  if (context != nullptr) save_results(context, -1);
  const Registry::Removed removed = forget_context(context);
  const std::uint64_t next = allocations().number_to_come();
  const CUresult result = original<slot, binding, ContextDestroy>()(context);
  if (result == cuda_success) {
    allocations().forget_context(context, false, next);
  } else {
    quietly([&] { registry().restore(removed); });
  }
  return result;
}

/// The primary context of a device as last returned to the program; null: not seen. Compared only.
std::atomic<CUcontext>* primary_handle_of(CUdevice device) {
  static std::atomic<CUcontext> handles[64] = {};
  return device >= 0 && device < 64 ? &handles[device] : nullptr;
}

bool is_primary_active(CUdevice device) {
  using GetState = CUresult (*)(CUdevice, unsigned*, int*);
  const auto get_state = driver_function<GetState>("cuDevicePrimaryCtxGetState");
  unsigned flags = 0;
  int is_active = 0;
  return get_state != nullptr && get_state(device, &flags, &is_active) == cuda_success && is_active != 0;
}

/// Returns null if it is inactive, or if it was never requested and nothing was allocated there.
CUcontext primary_context(CUdevice device) {
  const Passthrough passthrough;
  const std::atomic<CUcontext>* const known = primary_handle_of(device);
  if (known == nullptr || *known == nullptr) return active_primary_context(device);
  return is_primary_active(device) ? known->load() : nullptr;
}

/// Calls `end`, which may end the primary context of the device; the context is not used afterwards.
CUresult end_primary_context(PrimaryContextEnd end, CUdevice device) {
  if (Passthrough::active()) return end(device);
  const CUcontext context = primary_context(device);
  const std::uint64_t next = allocations().number_to_come();
  const CUresult result = end(device);
  if (result != cuda_success || context == nullptr) return result;
  const Passthrough passthrough;
  if (is_primary_active(device)) return result;
  allocations().forget_context(context, true, next);
  quietly([&] {
    for (const ExecutableGraphPtr& graph : graphs().remove_all_of(context)) abandon_graph(*graph);
    forget_in_engine(registry().remove_context(context));
    if (const lynxpp_engine* const engine = opened_engine()) engine->forget_context(context);
  });
  return result;
}

template <Slot slot, Binding binding>
CUresult primary_context_reset(CUdevice device) {
  if (device >= 0) save_results(Passthrough::active() ? nullptr : primary_context(device), device);
  return end_primary_context(original<slot, binding, PrimaryContextEnd>(), device);
}

/// Returns the number of observed retains that the program holds on each device's primary context.
std::atomic<int>* holds_of(CUdevice device) {
  static std::atomic<int> holds[64] = {};
  return device >= 0 && device < 64 ? &holds[device] : nullptr;
}

template <Slot slot, Binding binding>
CUresult primary_context_retain(CUcontext* context, CUdevice device) {
  using Retain = CUresult (*)(CUcontext*, CUdevice);
  const CUresult result = original<slot, binding, Retain>()(context, device);
  std::atomic<int>* const holds = holds_of(device);
  if (result != cuda_success || holds == nullptr || Passthrough::active()) return result;
  ++*holds;
  *primary_handle_of(device) = *context;
  return result;
}

/// The context ends when its last retain is released. As retains may have been missed, each release may be
/// the last; if it was not, the context continues under the same number.
template <Slot slot, Binding binding>
CUresult primary_context_release(CUdevice device) {
  const auto release = original<slot, binding, PrimaryContextEnd>();
  if (Passthrough::active()) return release(device);
  std::atomic<int>* const holds = holds_of(device);
  const bool others_hold_it = holds != nullptr && holds->load() > 1;
  if (!others_hold_it) save_results(nullptr, -1);
  const CUresult result = end_primary_context(release, device);
  if (result == cuda_success && holds != nullptr && holds->load() > 0) --*holds;
  return result;
}

}  // namespace
}  // namespace lynxpp::preload

#define LYNXPP_FAMILY_contexts LYNXPP_DEFINE_HOOK
#include "interposer/preload/hooks/define_hooks.h"
