// Named ranges of the program: those it marks by NVTX, and the one that LYNXPP_RANGE names.
//
// NVTX is in the program itself, as functions of its header that do nothing until they have asked the library
// that NVTX_INJECTION64_PATH names. `lynxpp run` sets that variable to liblynxpp.so unless the user has; with
// LD_PRELOAD alone the user does.
#pragma once

#include <cstddef>

namespace lynxpp::preload {

/// As lynxpp_range_source: LYNXPP_RANGE, then ranges that some thread has started, then those that the
/// calling thread has pushed.
std::size_t current_ranges(char* into, std::size_t capacity);

}  // namespace lynxpp::preload
