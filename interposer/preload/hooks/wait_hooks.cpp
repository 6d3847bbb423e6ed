// Wrappers of the functions that wait, copy, and start and stop profiling.
#include <cstddef>
#include <cstdint>

#include "interposer/preload/control.h"
#include "interposer/preload/driver.h"
#include "interposer/preload/engine_client.h"
#include "interposer/preload/quietly.h"

namespace lynxpp::preload {
namespace {

using Synchronize = CUresult (*)(const void*);
using SynchronizeContext = CUresult (*)();
using Copy = CUresult (*)(std::uintptr_t, std::uintptr_t, std::size_t);
using CopyAsync = CUresult (*)(std::uintptr_t, std::uintptr_t, std::size_t, CUstream);

// ---- synchronisation -------------------------------------------------------------------------------------

/// The program has waited for the device.
CUresult waited(CUresult result) {
  const lynxpp_engine* const engine = attached() && !Passthrough::active() ? opened_engine() : nullptr;
  if (engine == nullptr) return result;
  const Passthrough passthrough;
  quietly([&] { engine->waited(); });
  return result;
}

/// Wraps synchronization with streams, events and contexts, and blocking copies described by structures.
template <Slot slot, Binding binding>
CUresult synchronize(const void* what) {
  return waited(original<slot, binding, Synchronize>()(what));
}

template <Slot slot, Binding binding>
CUresult synchronize_context() {
  return waited(original<slot, binding, SynchronizeContext>()());
}

/// Reports a copy to the engine that the driver has accepted.
CUresult told_of_copy(CUresult result, const lynxpp_copy& made) {
  const lynxpp_engine* const engine = attached() && !Passthrough::active() ? opened_engine() : nullptr;
  if (engine == nullptr || result != cuda_success || made.bytes == 0) return result;
  const Passthrough passthrough;
  quietly([&] { engine->copied(&made); });
  return result;
}

template <Slot slot, Binding binding>
CUresult copy(std::uintptr_t destination, std::uintptr_t source, std::size_t bytes) {
  const CUresult result = waited(original<slot, binding, Copy>()(destination, source, bytes));
  return told_of_copy(result, {destination, source, bytes, nullptr, 0});
}

template <Slot slot, Binding binding>
CUresult copy_async(std::uintptr_t destination, std::uintptr_t source, std::size_t bytes, CUstream stream) {
  const CUresult result = original<slot, binding, CopyAsync>()(destination, source, bytes, stream);
  return told_of_copy(result, {destination, source, bytes, stream, 1});
}

// ---- start and end of a measurement ----------------------------------------------------------------------

template <Slot slot, Binding binding>
CUresult profiler_start() {
  const CUresult result = original<slot, binding, SynchronizeContext>()();
  if (!Passthrough::active()) profiler_called(true);
  return result;
}

template <Slot slot, Binding binding>
CUresult profiler_stop() {
  if (!Passthrough::active()) profiler_called(false);
  return original<slot, binding, SynchronizeContext>()();
}

}  // namespace
}  // namespace lynxpp::preload

#define LYNXPP_FAMILY_waits LYNXPP_DEFINE_HOOK
#include "interposer/preload/hooks/define_hooks.h"
