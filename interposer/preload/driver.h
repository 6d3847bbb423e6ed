// The real driver: how its functions are found, never through our own wrappers.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/preload/driver_types.h"

namespace lynxpp::preload {

/// One per line of driver_api.def.
enum class Slot : unsigned {
#define LYNXPP_DRIVER_HOOK(exported, asked, per_thread_stream, since, wrapper) exported,
#include "interposer/driver_api.def"
#undef LYNXPP_DRIVER_HOOK
  count
};

/// How a call came to us. `linked`: bound to the function liblynxpp.so exports; the original is the next
/// definition in the global scope, perhaps of another preload. `looked_up`: through dlsym or
/// cuGetProcAddress; the original is what that look-up really found.
enum class Door : unsigned { linked, looked_up, count };

/// The originals, by door and slot; null until known.
extern std::atomic<void*> originals[static_cast<unsigned>(Door::count)][static_cast<unsigned>(Slot::count)];

/// Finds and remembers an original that is not known yet; a function that returns CUDA_ERROR_STUB_LIBRARY
/// when there is no driver.
void* find_original(Slot slot, Door door);

/// The original if it is known already.
template <Slot slot, Door door, typename Function>
Function known_original() {
  return reinterpret_cast<Function>(
      originals[static_cast<unsigned>(door)][static_cast<unsigned>(slot)].load(std::memory_order_relaxed));
}

template <Slot slot, Door door, typename Function>
Function original() {
  if (const auto known = known_original<slot, door, Function>()) return known;
  return reinterpret_cast<Function>(find_original(slot, door));
}

/// Remembers what a look-up found for `slot`; the first one stays.
void remember_looked_up(Slot slot, void* address);

/// The slot whose exported name is `name`, or Slot::count.
Slot slot_of_export(const char* name);
/// The slot of the variant that cuGetProcAddress gives for these arguments, or Slot::count.
Slot slot_of_request(const char* name, int version, bool per_thread_stream);

/// What the driver library exports for the slot; null: nothing.
void* driver_export(Slot slot);

/// What its cuGetProcAddress gives under the slot's name: of the slot's own version, or where that is not
/// known of a later one; null: nothing.
struct Requested {
  Slot slot;
  void* address;
};
Requested driver_request(Slot slot);

/// Whether `address` lies in the CUDA driver library.
bool belongs_to_driver(const void* address);
bool belongs_to_this_library(const void* address);

/// Whether the process has the CUDA driver library open.
bool driver_loaded();

/// Whether that library is the cpu device's stand-in.
bool driver_is_stand_in();

/// True if a library other than this one offers the function to the process.
bool exists_without_us(const char* name);

/// True for the handle that dlopen returns for this library.
bool is_our_handle(const void* handle);
/// Returns what the driver library exports under that name, known to us or not; null if nothing.
void* driver_export(const char* name);

/// lynxpp_driver_lookup of engine_api.h. A name without suffix is asked of cuGetProcAddress for CUDA 12.8:
/// the function of that name in cuda.h 13, except for the few that got another signature in 13.0. Those, and
/// _ptsz and _ptds variants, are to be named as libcuda.so.1 exports them: cuCtxGetDevice_v2,
/// cuLaunchKernel_ptsz.
void* lookup_driver(const char* name);

/// Returns the calling thread's context; null if there is none.
CUcontext current_context();

}  // namespace lynxpp::preload
