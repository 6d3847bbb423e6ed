// Starts in a process that was not started with LD_PRELOAD: in cuInit the driver opens the library that
// CUDA_INJECTION64_PATH names, and calls InitializeInjection.
//
// Functions bound until then bypass us: dlsym and cuGetProcAddress returned the driver's own functions, and
// the CUDA runtime (static or shared) has already stored all of them in a table. So our wrappers replace the
// addresses of intercepted functions in the import slots and the writable data of every loaded object.
// Addresses on the heap, and functions that libraries opened later look up themselves, are not replaced.
#pragma once

namespace lynxpp::preload {

/// True if the dynamic linker is loading us with the program. Call it in the library's constructor.
bool is_loaded_with_program();

/// True if another copy of this library was loaded into the process first.
bool is_second_copy();

/// Opens a library that prefers its own symbols to ours (RTLD_DEEPBIND). After its constructors have run,
/// binds the library and its dependencies to ours.
void* open_and_bind(const char* name, int flags);

/// True if the object that contains the address specifies where libraries that it opens by name are searched.
bool has_search_path(const void* address);

}  // namespace lynxpp::preload
