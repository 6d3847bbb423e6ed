// Observes compilers: remembers which cubin ptxas and NVRTC compiled from which PTX (image/compiled_ptx.h).
#pragma once

#include <functional>

namespace lynxpp::preload {

/// In a process that runs ptxas (child processes inherit the preload library): if it succeeds, remembers the
/// PTX that it read and the cubin that it wrote. Does nothing in other processes. Call once, at the start;
/// the arguments must live as long as the process.
void watch_ptxas(int count, char** arguments);

/// Called at the end of the process.
void remember_ptxas_output();

/// Returns the replacement for `name` as looked up in `handle`: a function that forwards to the library's
/// nvrtcGetCUBIN and remembers its output. Null for every other name, or if the library lacks the function.
void* watched_compiler_function(void* handle, const char* name);
/// Same, for a library whose functions `find` returns.
void* watched_compiler_function(const std::function<void*(const char*)>& find, const char* name);

}  // namespace lynxpp::preload
