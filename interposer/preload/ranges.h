// Named ranges of the program: those that it marks through NVTX, and the one that LYNXPP_RANGE names.
//
// NVTX is part of the program, as functions of a header that do nothing until they have queried the library
// that NVTX_INJECTION64_PATH names. `lynxpp run` sets that variable to liblynxpp.so unless the user has set
// it; with LD_PRELOAD alone the user must set it.
#pragma once

#include <cstddef>

namespace lynxpp::preload {

/// Implements lynxpp_range_source: LYNXPP_RANGE, then ranges that any thread has started, then ranges that
/// the calling thread has pushed.
std::size_t current_ranges(char* into, std::size_t capacity);

}  // namespace lynxpp::preload
