// Counters that are one bit of a register of their function, for plan.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "ptx/passes/counting/plan.h"

namespace lynxpp::ptx {

inline constexpr std::uint32_t most_bits = 96;

/// By the place where they are set.
using PlacedBits = std::map<CountPlace, std::uint32_t>;

/// What is counted at most once is one bit of a register, shared by all who count it at one place. False: it
/// has to be a number.
bool place_bit(FunctionPlan& plan, Counter& counter, PlacedBits& bits);

/// Where registers are given away anyway, threads on a way thought to be rare cost no more than a bit. Where
/// a warp is counted there, its leader adds to memory for the threads, too. `order`: the counters in use.
void place_rare_bits(FunctionPlan& plan, const std::vector<std::uint32_t>& order, PlacedBits& bits);

/// Numbers the bits anew, so that those that are given away in one way lie side by side: four of them are one
/// sum of the lanes, and 32 one access to memory.
void order_bits(FunctionPlan& plan);

}  // namespace lynxpp::ptx
