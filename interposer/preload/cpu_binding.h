// Redirects the program's CUDA runtime calls on the cpu device from libcudart to the engine's table of
// functions.
#pragma once

#include <cstdint>

#include "interposer/engine_api.h"

namespace lynxpp::preload {

/// True if a loaded object is linked with a shared CUDA runtime. Only then does a process open the engine for
/// the cpu device.
bool links_shared_runtime();

enum class BindingTime : std::uint8_t {
  before_constructors,  ///< no constructor has registered fatbinaries with a runtime, and there is one thread
  later,                ///< static runtimes need bind_opened_runtimes()
};

/// Opens the engine and binds every loaded object to its functions, once.
void bind_to_cpu_device(BindingTime when);

/// Prepares a process whose program does not link the runtime: libraries that it opens later may bring a
/// runtime. They find the functions of liblynxpp-cudart.so first, whose first call binds the process. Called
/// before dlopen.
void prepare_late_runtimes();

/// Same, for `name` looked up with dlsym and found in a runtime.
void bind_late_runtime(void* handle, const char* name);

/// Binds the static runtimes of the libraries that dlopen has loaded, and lets these register their device
/// code again. Called before dlsym looks into them. Cheap if no object was loaded since the last call. Thread
/// safe.
void bind_opened_runtimes();

/// Returns the engine's function for a dlsym of that name; null if the engine has none or the process does
/// not use the cpu device.
void* looked_up_cpu_function(const char* name);

/// Returns the library to open instead when `caller` opens `library`: the cpu device's libcuda.so.1 instead
/// of the driver, in a process that runs on the cpu device; null: open `library`. A statically linked CUDA
/// runtime that is not bound finds no driver, because it needs its private tables; the user is notified once.
const char* driver_to_open(const char* library, const void* caller);

/// Warns the user, once, if a program that is to run on the cpu device still loads device code into a GPU's
/// driver; that code is not instrumented.
void explain_driver_use();

}  // namespace lynxpp::preload
