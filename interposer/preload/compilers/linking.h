// Observes the driver's linker: remembers which cubin it linked from which PTX (image/compiled_ptx.h), so
// that the cubin's kernels can be instrumented when the program loads it.
#pragma once

#include <cstddef>

namespace lynxpp::preload {

/// The options of cuLinkCreate, cuLinkAddData and cuLinkAddFile, after which the functions below are called.
struct LinkOptions {
  unsigned count = 0;
  const int* options = nullptr;
  void* const* values = nullptr;
};
void link_created(void* state, const LinkOptions& options);
void link_data_added(void* state, int type, const void* data, std::size_t size, const LinkOptions& options);
void link_file_added(void* state, int type, const char* path, const LinkOptions& options);

/// Called after cuLinkComplete. Remembers the PTX inputs, separated by a zero byte, unless an option affects
/// the result.
void link_completed(void* state, const void* cubin, std::size_t bytes);
void link_destroyed(void* state);

}  // namespace lynxpp::preload
