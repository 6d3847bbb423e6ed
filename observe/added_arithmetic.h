// What shows without touching clocks whether memory is what a kernel waits for: arithmetic beside each of its
// accesses, which takes no time where it does.
//
//   run with added_arithmetic_specification(1) and with that of 1 + n, and compare the times
#pragma once

#include <cstdint>
#include <string>

namespace lynxpp::observe {

/// `count` additions beside each access to global memory, at least 1. What begins and ends them is the same
/// for any count.
std::string added_arithmetic_specification(std::uint32_t count);

/// Results `instructions` and `accesses`: of warps, all, and those that arithmetic is added beside.
std::string access_counts_specification();

}  // namespace lynxpp::observe
