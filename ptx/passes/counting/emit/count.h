#pragma once

#include <memory>

#include "ptx/passes/pass.h"

namespace lynxpp::ptx {

/// Writes the counters of unit.counting into the functions.
///
/// A counter in a register is raised by every lane and given away where a thread leaves the function: the
/// warp's lanes add theirs up and add to memory once. All other counters are added to memory on the spot,
/// once per warp. Word unit.counter_word of the hidden parameter is the address of CountPlan::slots() zeroed
/// 64-bit slots.
std::unique_ptr<Pass> make_count_pass();

}  // namespace lynxpp::ptx
