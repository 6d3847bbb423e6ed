// The cost model by which passes choose among correct alternatives: estimated executions of a block, and
// costs of one count. A wrong estimate costs time, never a count.
//
// Executions follow LLVM's static block frequencies (after Wu and Larus, "Static branch frequency and program
// profile analysis", MICRO 1994): a constant number of iterations per loop and a constant probability of a
// branch that leaves early. Costs are in units of an election, the most expensive way to count once:
//
//   way to count                                 instructions at the site              cost
//   an elected lane adds to memory               activemask, and, setp, add            1
//   lane 0 adds, or a register of all lanes      add                                   0.25
//   each lane adds in its own register           add, later a maximum over the warp    0.3
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace lynxpp::ptx::cost {

inline constexpr double iterations_of_a_loop = 8;
/// Deeper loops do not weigh more, so that sums of estimates stay comparable.
inline constexpr std::uint32_t deepest_loop = 6;
/// Probability of an edge to a short block that ends the thread, as in `if (index >= size) return;`.
inline constexpr double early_exit = 0.1;
/// Counters with at least this estimate of increments per entry are worth a register.
inline constexpr double likely = 0.5;

inline constexpr double without_election = 0.25;
inline constexpr double in_each_lane = 0.3;

/// A value computed once and kept pays if it replaces at least this many computations per computation of its
/// own; the register that it occupies is the price.
inline constexpr double least_reuse = 2;

// The maximum number of registers that a function may use for values that are live in much of it, where each
// may cost occupancy or be spilled.
inline constexpr std::uint32_t registers_of_counters = 24;
inline constexpr std::uint32_t wide_registers_of_counters = registers_of_counters / 2;  ///< of 64 bits
inline constexpr std::uint32_t registers_of_entry_values = 8;                           ///< of 32 bits
inline constexpr std::uint32_t registers_of_lane_values = 8;

/// Returns the estimated executions of a block per entry of its function, by the number of loops around it.
inline double executions_in_loops(std::uint32_t depth) {
  return std::pow(iterations_of_a_loop, std::min(depth, deepest_loop));
}

}  // namespace lynxpp::ptx::cost
