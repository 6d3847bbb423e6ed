// nvJitLink at work: which PTX it makes a cubin of is remembered (image/compiled_ptx.h).
#pragma once

namespace lynxpp::preload {

/// `name` as looked up in `handle`: a function that forwards to the library's own of that name and follows
/// what is linked; null for every other name, or when the library lacks one that is needed for it.
void* watched_linker_function(void* handle, const char* name);

}  // namespace lynxpp::preload
