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

/// Tells the user, once, when `caller` is a program, or a library of it, whose CUDA runtime is linked
/// statically and asks for a driver that the cpu device cannot stand in for.
void explain_static_runtime(const char* library, const void* caller);

/// Tells the user, once, when a program that is to run on the cpu device loads device code into the CUDA
/// driver all the same.
void explain_driver_use();

/// Whether one of the two has said why the program cannot be measured.
bool has_explained();

}  // namespace lynxpp::preload
