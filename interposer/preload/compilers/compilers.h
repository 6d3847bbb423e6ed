// Compilers at work: what ptxas and NVRTC make of which PTX is remembered (image/compiled_ptx.h).
#pragma once

#include <functional>

namespace lynxpp::preload {

/// In a process that runs ptxas (the preload library is inherited by child processes): when it ends well, the
/// PTX it read and the cubin it wrote are remembered. Elsewhere nothing. Call once, at the start; the
/// arguments must live as long as the process.
void watch_ptxas(int count, char** arguments);

/// At the end of the process.
void remember_what_ptxas_wrote();

/// `name` as looked up in `handle`: a function that forwards to the library's nvrtcGetCUBIN and remembers
/// what it gave; null for every other name, or when the library has none.
void* watched_compiler_function(void* handle, const char* name);
/// The same of a library whose functions `find` gives.
void* watched_compiler_function(const std::function<void*(const char*)>& find, const char* name);

}  // namespace lynxpp::preload
