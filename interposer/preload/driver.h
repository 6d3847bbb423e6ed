// Finds the functions of the real driver, never through our own wrappers.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/preload/driver_types.h"

namespace lynxpp::preload {

/// One per line of driver_api.def.
enum class Slot : unsigned {
#define LYNXPP_DRIVER_HOOK(exported, asked, per_thread_stream, since, family, wrapper) exported,
#include "interposer/driver_api.def"
#undef LYNXPP_DRIVER_HOOK
  count
};

/// How a call arrived. `linked`: bound to the function that liblynxpp.so exports; the original is the next
/// definition in the global scope, possibly of another preload. `looked_up`: through dlsym or
/// cuGetProcAddress; the original is the function that the look-up found.
enum class Binding : unsigned { linked, looked_up, count };

/// Originals by binding and slot; null until known.
extern std::atomic<void*> originals[static_cast<unsigned>(Binding::count)]
                                   [static_cast<unsigned>(Slot::count)];

/// Finds and caches an unknown original. Returns a function that returns CUDA_ERROR_STUB_LIBRARY if the
/// process has no driver.
void* find_original(Slot slot, Binding binding);

/// Returns the original, or null if it is not known yet.
template <Slot slot, Binding binding, typename Function>
Function known_original() {
  return reinterpret_cast<Function>(
      originals[static_cast<unsigned>(binding)][static_cast<unsigned>(slot)].load(std::memory_order_relaxed));
}

template <Slot slot, Binding binding, typename Function>
Function original() {
  if (const auto known = known_original<slot, binding, Function>()) return known;
  return reinterpret_cast<Function>(find_original(slot, binding));
}

/// Remembers the result of a look-up for `slot`; only the first result is kept.
void remember_looked_up(Slot slot, void* address);

/// Returns the slot whose exported name is `name`, or Slot::count.
Slot slot_of_export(const char* name);
/// Returns the slot of the variant that cuGetProcAddress returns for these arguments, or Slot::count.
Slot slot_of_request(const char* name, int version, bool per_thread_stream);

/// Returns the driver library's export for the slot, or null.
void* driver_export(Slot slot);

/// The driver's cuGetProcAddress result for a slot's name: the function of the slot's version or, if that is
/// unknown, of a later one. A null address: not found.
struct Requested {
  Slot slot;
  void* address;
};
Requested driver_request(Slot slot);

/// True if `address` lies in the CUDA driver library.
bool belongs_to_driver(const void* address);
bool belongs_to_this_library(const void* address);

/// True if the process has opened the CUDA driver library.
bool driver_loaded();

/// True if that library is the cpu device's stand-in.
bool driver_is_stand_in();

/// True if a library other than this one provides the function.
bool is_provided_elsewhere(const char* name);

/// True for the handle that dlopen returns for this library.
bool is_our_handle(const void* handle);
/// Returns the driver library's export of that name, whether or not we intercept it; null if it is missing.
void* driver_export(const char* name);

/// Implements lynxpp_driver_lookup of engine_api.h. Looks names without suffix up through cuGetProcAddress
/// for CUDA 12.8: the functions of cuda.h 13, except for the few whose signatures changed in 13.0. Pass
/// those, and _ptsz and _ptds variants, under their exported names in libcuda.so.1: cuCtxGetDevice_v2,
/// cuLaunchKernel_ptsz.
void* lookup_driver(const char* name);
template <typename Function>
Function driver_function(const char* name) {
  return reinterpret_cast<Function>(lookup_driver(name));
}

/// Returns the calling thread's context; null if it has none.
CUcontext current_context();

}  // namespace lynxpp::preload
