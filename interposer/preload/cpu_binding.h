// On the cpu device the program's CUDA runtime calls go to the engine's table of functions instead of
// libcudart.
#pragma once

#include "interposer/engine_api.h"

namespace lynxpp::preload {

/// Whether a loaded object is linked with a shared CUDA runtime. True is what makes a process worth the
/// engine on the cpu device.
bool links_shared_runtime();

/// Opens the engine and binds every loaded object to its functions, once. To be called before any constructor
/// that registers fatbinaries with the runtime.
void bind_to_cpu_device();

/// For a process whose program does not link the runtime: what it opens from now on may bring it along, and
/// finds the functions of liblynxpp-cudart.so first, whose first call binds the process. Called before
/// dlopen.
void prepare_late_runtimes();

/// The same where `name` is looked up with dlsym, and found in a runtime.
void bind_late_runtime(void* handle, const char* name);

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

/// True if the process has a shared runtime whose functions were bound past those of the cpu device.
bool has_bypassing_runtime();

/// Whether driver_to_open() or explain_driver_use() has said why the program cannot be measured.
bool has_explained();

}  // namespace lynxpp::preload
