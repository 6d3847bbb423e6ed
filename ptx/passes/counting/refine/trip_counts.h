// Loops that need no counter, because their trip count is constant or follows from a register of the program.
//
// Constant: the number of entries times the constant.
//
// Read from a register: if each iteration changes a register by the same constant, the difference between its
// values after and before the loop is that constant times the number of executions of the changing block. So
// nothing is counted inside the loop. Differences are taken modulo 2^32, like counters: a 32-bit difference
// determines the count if the step is odd, a 64-bit difference also if it is an odd multiple of up to 2^32.
//
// If the lanes of a warp exit a loop together, on one edge, the register is read on that edge: all lanes
// there have the same trip count, so one of them counts for the warp, whichever path the lanes came from.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "ptx/passes/counting/flow/flow.h"

namespace lynxpp::ptx {

/// The kinds of trip counts to find.
struct TripCountKinds {
  bool constants = true;
  bool readings = true;
};
/// Returns at most one of each kind per loop, constants first: a flow that cannot use the constant, because
/// the loop's header is a source, reads the register.
std::vector<TripCount> find_trip_counts(const CountedFunction& function, const EdgeSites& sites,
                                        const TripCountKinds& kinds);

/// Returns the kind of a flow's counter that reads the trip count; nullopt: the flow cannot use it.
using TripCountUse = std::function<std::optional<CounterKind>(const TripCount&)>;

/// Adds front nodes to the flow before the blocks of trip counts; the trip count defines the edge from the
/// front node to its block. Uses the first usable trip count of each loop. A constant requires that every
/// edge into the loop's header from outside is an edge of its own, which holds for headers that are not
/// sources.
void count_by_trips(const CountedFunction& function, const EdgeSites& sites,
                    const std::vector<TripCount>& all, const TripCountUse& use_of, FlowGraph& flow);

/// Returns, by loop with a constant trip count, the positions in flow.edges of the edges that enter it.
std::map<std::uint32_t, std::vector<std::uint32_t>> entries_of_loops(const CountedFunction& function,
                                                                     const FlowGraph& flow);

}  // namespace lynxpp::ptx
