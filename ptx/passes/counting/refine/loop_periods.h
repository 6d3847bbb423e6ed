// How long a loop can go on, from what its exits test.
//
// Where each way out of a loop is tested in every iteration and depends on nothing but variables that change
// by the same step each time, and on what the loop does not change, its tests repeat themselves as soon as
// these variables do: after 2^(w-k) iterations for variables of w bits that step by an odd multiple of 2^k. A
// lane that is not out by then never will be. So differences of such a variable, divided by its step, tell
// every number of iterations apart, although they are known modulo 2^(w-k) only.
#pragma once

#include <cstdint>
#include <optional>

#include "ptx/passes/counting/flow/flow.h"

namespace lynxpp::ptx {

/// The n for which each way out of the loop is tested at most 2^n times each time the loop is entered;
/// nullopt: not known.
std::optional<std::uint32_t> log_of_most_tests(const CountedFunction& function, std::uint32_t loop);

/// Of a number that is not 0: the exponent of the greatest power of two that divides it.
std::uint32_t power_of_two_in(std::int64_t number);

}  // namespace lynxpp::ptx
