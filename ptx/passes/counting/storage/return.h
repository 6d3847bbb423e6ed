// Counters of device functions that go back to the kernel with their threads.
//
// What a device function keeps in registers it would give away at each return: a hundred instructions, and
// additions to memory by few lanes. A word of the thread's frame takes it instead, which costs three
// instructions, and the kernel gives the words away once.
#pragma once

#include <cstdint>

#include "ptx/passes/counting/plan.h"

namespace lynxpp::ptx {

/// Beyond it functions give their counters away themselves: the kernel zeroes all words and reads them,
/// whether anybody calls the functions or not.
inline constexpr std::uint32_t most_returned = 32;

/// Sets Counter::frame_word of what `function` keeps in registers and bits, and appends it to what `kernel`
/// gives away, as far as `plan` has room.
void return_counters(CountPlan& plan, FunctionPlan& function, FunctionPlan& kernel);

}  // namespace lynxpp::ptx
