// The counters of a kernel's variant, and how the host computes every requested count from them
// (ptx/passes/counting/planner.h).
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

namespace lynxpp::ptx {

/// The distance between the replicas of neighbouring warps of an SM; see CountPlan::replicas.
inline constexpr std::uint32_t replicas_of_warps = 128;

/// The counters of one function, as seen by the device.
struct FunctionCounters {
  std::uint32_t unit = 0;  ///< in ReachedFunctions::functions
  std::vector<Counter> counters;
  std::vector<LaneMaximum> lane_maxima;  ///< each of one counter
  std::uint32_t registers = 0;
  std::uint32_t bits = 0;  ///< 32 per register
};

/// Launch properties that counts are computed from.
struct LaunchedGrid {
  std::uint64_t threads = 0;
  std::uint64_t warps = 0;
};

struct CountPlan {
  std::vector<FunctionCounters> functions;  ///< callers before callees
  /// The counter of each tally: the function's position and the counter's position in it.
  std::map<Tally, std::pair<std::uint32_t, std::uint32_t>> tallies;

  SolvedSystem system;
  VariableId launched_threads = no_variable, launched_warps = no_variable;
  std::map<Quantity, VariableId> quantities;  ///< all requested quantities

  std::map<std::uint32_t, std::uint32_t> positions;  ///< in `functions`, by index in the unit
  std::uint32_t slots_in_use = 0;
  /// `stride` is the number of slots of one replica, a multiple of a cache line. `replicas` is a power of
  /// two: a warp adds to replica %warpid * replicas_of_warps + %smid mod `replicas`.
  std::uint32_t stride = 0;
  std::uint32_t replicas = 0;
  bool is_wide = false;  ///< 64-bit registers
  /// True if the flush combines the values of a warp's lanes (redux.sync); otherwise each lane adds its own.
  bool sums_lanes = false;

  std::uint64_t slots() const { return std::uint64_t{stride} * replicas; }
  const Counter& counter(const std::pair<std::uint32_t, std::uint32_t>& at) const {
    return functions[at.first].counters[at.second];
  }
  /// Returns the values of all variables of the system. `slots` has slots() elements, as the device stored
  /// them.
  std::vector<std::uint64_t> evaluate(std::span<const std::uint64_t> slots,
                                      const LaunchedGrid& launched) const;
};

/// How the kernel is counted.
struct KernelCounting {
  CountRequest request;                   ///< set once the measured accesses (MemorySites) are known
  bool is_wide = false;                   ///< 64-bit registers; assumes nothing about index ranges
  std::shared_ptr<const CountPlan> plan;  ///< null: no edge counters
  /// By position in CountPlan::functions; empty before the count pass.
  std::vector<CounterRegisters> registers;
  std::uint32_t slot = 0;  ///< parameter slot with the address of the plan's slots
};

}  // namespace lynxpp::ptx
