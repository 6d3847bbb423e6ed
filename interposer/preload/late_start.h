// Being loaded by the driver itself, in a process that was not started with LD_PRELOAD: the driver opens the
// library that CUDA_INJECTION64_PATH names in cuInit, and calls InitializeInjection.
//
// What has been bound until then went past us: dlsym and cuGetProcAddress have given the driver's own
// functions away, the CUDA runtime (static or shared) has all of them in a table by then. So wherever an
// object that is loaded holds the address of a function that we stand in front of, in an import slot or
// in its writable data, our wrapper takes its place. What is on the heap, and what is opened later and looks
// functions up by itself, is not reached.
#pragma once

namespace lynxpp::preload {

/// To be called by the library's constructor: whether the dynamic linker loads us with the program.
bool is_loaded_with_program();

/// Whether another copy of this library is in the process, and was there first.
bool is_second_copy();

/// Opens a library that prefers its own symbols to ours (RTLD_DEEPBIND), and binds it, and what came with
/// it, to ours when its constructors have run.
void* open_and_bind(const char* name, int flags);

/// Whether the object that holds the address says where libraries that it opens by name are looked for.
bool has_search_path(const void* address);

}  // namespace lynxpp::preload
