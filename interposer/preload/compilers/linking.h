// The driver's linker at work: which PTX it makes a cubin of is remembered (image/compiled_ptx.h), so that
// the cubin's kernels can be instrumented when the program loads it.
#pragma once

#include <cstddef>

namespace lynxpp::preload {

/// After cuLinkCreate, cuLinkAddData and cuLinkAddFile; `options` are those of the call, `count` of them.
struct LinkOptions {
  unsigned count = 0;
  const int* options = nullptr;
  void* const* values = nullptr;
};
void link_created(void* state, const LinkOptions& options);
void link_data_added(void* state, int type, const void* data, std::size_t size, const LinkOptions& options);
void link_file_added(void* state, int type, const char* path, const LinkOptions& options);

/// After cuLinkComplete. Remembers the PTX inputs, with a zero byte between them, unless an option changes
/// what the driver makes of them.
void link_completed(void* state, const void* cubin, std::size_t bytes);
void link_destroyed(void* state);

}  // namespace lynxpp::preload
