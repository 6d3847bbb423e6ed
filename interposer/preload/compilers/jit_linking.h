// nvJitLink at work: which PTX it makes a cubin of is remembered (image/compiled_ptx.h).
#pragma once

#include <functional>

namespace lynxpp::preload {

/// Gives a library's function of a name; null: it has none.
using FunctionFinder = std::function<void*(const char*)>;

/// `name` as looked up in `handle`: a function that forwards to the library's own of that name and follows
/// what is linked; null for every other name, or when the library lacks one that is needed for it.
void* watched_linker_function(void* handle, const char* name);
/// The same of a library whose functions `find` gives.
void* watched_linker_function(const FunctionFinder& find, const char* name);

}  // namespace lynxpp::preload
