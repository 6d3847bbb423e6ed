// Observes nvJitLink: remembers which cubin it linked from which PTX (image/compiled_ptx.h).
#pragma once

#include <functional>

namespace lynxpp::preload {

/// Returns a library's function by name; null if it is missing.
using FunctionFinder = std::function<void*(const char*)>;

/// Returns the replacement for `name` as looked up in `handle`: a function that forwards to the library's own
/// and tracks the link. Null for every other name, or if the library lacks a function needed for tracking.
void* watched_linker_function(void* handle, const char* name);
/// Same, for a library whose functions `find` returns.
void* watched_linker_function(const FunctionFinder& find, const char* name);

}  // namespace lynxpp::preload
