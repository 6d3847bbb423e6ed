// Which numbers the device counts so that the host can tell all that is asked for.
//
// Everything asked for is a linear form over few counters and what the launch tells (linear_system.h):
// planning draws the flows of threads and of warps through each function, takes the edges off a spanning tree
// for counters, and substitutes what trip counts, callers and other refinements (refinements.h) know.
// Counters whose columns are equal become one, those whose column is empty none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "ptx/passes/counting/counters.h"
#include "ptx/passes/counting/demand.h"
#include "ptx/passes/counting/linear_system.h"
#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::ptx {

/// Neighbouring warps of an SM add to replicas that lie so far apart, see CountPlan::replicas.
inline constexpr std::uint32_t replicas_of_warps = 128;

/// What the device does in one function.
struct FunctionCounters {
  std::uint32_t unit = 0;  ///< in ReachedFunctions::functions
  std::vector<Accumulator> accumulators;
  std::vector<Counter> counters;
  std::vector<TripCount> trip_counts;  ///< those that are read
  std::vector<LaneLoop> lane_loops;
  std::vector<LaneMaximum> lane_maxima;
  std::uint32_t registers = 0;
  std::uint32_t bits = 0;       ///< 32 in a register
  std::uint32_t bit_pairs = 0;  ///< 32 in two registers
  /// Lanes wait for each other before they exit: all that were launched flush together.
  bool converges_at_exit = false;
};

/// What the host knows of a launch.
struct LaunchedGrid {
  std::uint64_t threads = 0;
  std::uint64_t warps = 0;
  std::uint32_t blocks[3] = {1, 1, 1};  ///< of threads, in each dimension
};

struct CountPlan {
  std::vector<FunctionCounters> functions;  ///< callers before the functions they call
  /// Where the routines of probes add: the function's position, and the counter's in it.
  std::map<Tally, std::pair<std::uint32_t, std::uint32_t>> tallies;

  LinearSystem system;
  VariableId launched_threads = no_variable, launched_warps = no_variable;
  std::map<Quantity, VariableId> quantities;  ///< all that are asked for

  std::map<std::uint32_t, std::uint32_t> positions;  ///< in `functions`, by index in the unit
  std::uint32_t slots_in_use = 0;
  /// Slots of one replica, a multiple of a cache line; replicas, a power of two: a warp adds to replica
  /// %warpid * replicas_of_warps + %smid mod `replicas`.
  std::uint32_t stride = 0;
  std::uint32_t replicas = 0;
  bool is_wide = false;  ///< registers of 64 bits

  std::uint64_t slots() const { return std::uint64_t{stride} * replicas; }
  const Counter& counter(const std::pair<std::uint32_t, std::uint32_t>& at) const {
    return functions[at.first].counters[at.second];
  }
  const Accumulator& accumulator(const std::pair<std::uint32_t, std::uint32_t>& at) const {
    return functions[at.first].accumulators[counter(at).accumulator];
  }
  /// Values of all variables of the system. `slots` has slots() elements, as the device stored them.
  std::vector<std::uint64_t> evaluate(std::span<const std::uint64_t> slots,
                                      const LaunchedGrid& launched) const;
};

/// Plans what KernelCounting::demand asks for: fills in KernelCounting::plan, and `word` where the plan has
/// slots. Failure: the counters cannot be placed.
Status plan_counting(InstrumentationUnit& unit);

}  // namespace lynxpp::ptx
