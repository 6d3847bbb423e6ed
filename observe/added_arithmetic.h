// Determines without clocks if a kernel is memory-bound: arithmetic added at each access takes no additional
// time in a memory-bound kernel.
//
//   run with added_arithmetic_specification(1) and added_arithmetic_specification(1 + n), compare the times
#pragma once

#include <cstdint>
#include <string>

namespace lynxpp::observe {

/// Returns a specification that adds `count` additions at each access to global memory, at least 1. Its
/// prologue and epilogue are independent of the count.
std::string added_arithmetic_specification(std::uint32_t count);

/// Counts in warp instructions: result `instructions` is all, `accesses` those at which arithmetic is added.
std::string access_counts_specification();

}  // namespace lynxpp::observe
