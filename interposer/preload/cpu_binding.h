// On the cpu device the program's CUDA runtime calls go to the engine's table of functions instead of
// libcudart.
#pragma once

#include "interposer/engine_api.h"

namespace lynxpp::preload {

/// Whether a loaded object is linked with a shared CUDA runtime. True is what makes a process worth the
/// engine on the cpu device.
bool links_shared_runtime();

/// Opens the engine and binds every loaded object to its functions. To be called before any other constructor
/// of the process, because programs and libraries register their fatbinaries in theirs.
void bind_to_cpu_device();

/// What a look-up of that name by dlsym is to find: the engine's function; null when it has none or the
/// process is not on the cpu device.
void* looked_up_cpu_function(const char* name);

/// What dlopen is to open where `caller` asks for `library`: the cpu device's libcuda.so.1 in place of the
/// driver, in a process that is to run on the cpu device; null: what was asked for. A CUDA runtime that is
/// linked statically finds none, since it needs private tables of the driver; the user is told so once.
const char* driver_to_open(const char* library, const void* caller);

/// Tells the user, once, when a program that is to run on the cpu device loads device code into the driver of
/// a GPU all the same, which is not instrumented then.
void explain_driver_use();

/// Whether this process launches on the cpu device, by its runtime or by its driver.
bool runs_on_cpu_device();

/// Whether one of the two has said why the program cannot be measured.
bool has_explained();

}  // namespace lynxpp::preload
