// Bounds the number of iterations of a loop by its exit conditions.
//
// If every exit is tested in each iteration on induction variables with constant steps and on loop-invariant
// values, the tests repeat after 2^(w-k) iterations, for variables of w bits whose step is an odd multiple of
// 2^k. A lane that has not exited by then never exits. So the difference of such a variable, divided by its
// step, identifies every trip count, although it is known only modulo 2^(w-k).
#pragma once

#include <cstdint>
#include <optional>

#include "ptx/passes/counting/flow/flow.h"

namespace lynxpp::ptx {

/// Returns n such that each exit of the loop is tested at most 2^n times per entry of the loop; nullopt if
/// unknown.
std::optional<std::uint32_t> log_of_most_tests(const CountedFunction& function, std::uint32_t loop);

/// Returns the exponent of the largest power of two that divides `number`, which must not be 0.
std::uint32_t power_of_two_in(std::int64_t number);

}  // namespace lynxpp::ptx
