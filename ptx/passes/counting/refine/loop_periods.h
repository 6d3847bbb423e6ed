// The maximum number of iterations of a loop, from the conditions of its exits.
//
// Where every exit is tested each iteration on values with constant step, and on values the loop does not
// change, the tests repeat after 2^(w-k) iterations, for variables of w bits whose step is an odd multiple of
// 2^k. A lane that has not exited by then never will. So differences of such a variable, divided by its step,
// tell every trip count apart, although they are known modulo 2^(w-k) only.
#pragma once

#include <cstdint>
#include <optional>

#include "ptx/passes/counting/flow/flow.h"

namespace lynxpp::ptx {

/// The n for which each exit of the loop is tested at most 2^n times each time the loop is entered; nullopt:
/// not known.
std::optional<std::uint32_t> log_of_most_tests(const CountedFunction& function, std::uint32_t loop);

/// Of a number that is not 0: the exponent of the largest power of two that divides it.
std::uint32_t power_of_two_in(std::int64_t number);

}  // namespace lynxpp::ptx
