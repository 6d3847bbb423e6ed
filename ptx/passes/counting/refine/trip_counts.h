// Loops that need no counter, because their trip count is constant or a register of the program tells it.
//
// Constant: what enters the loop, times the constant.
//
// Read from a register: a register that each iteration changes by the same constant differs after the loop
// from what it was before by that constant times the number of executions of the block that changes it. So
// nothing is counted in the loop. Differences are taken modulo 2^32, as counters are. Where the step is an
// odd multiple of 2^k, a difference of 32 bits tells the number modulo 2^(32-k) only; such a register counts
// where the loop's exits bound the number (loop_periods.h). Registers of 64 bits tell enough in any case, for
// k up to 32.
//
// A loop that the lanes of a warp exit together, by one edge, is read on that exit: each lane that comes
// there has iterated as often as all others that do, so one of them counts for the warp, wherever the lanes
// come from.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "ptx/passes/counting/flow/flow.h"

namespace lynxpp::ptx {

/// Which kinds are looked for.
struct TripCountKinds {
  bool constants = true;
  bool readings = true;
  bool periods = true;  ///< readings whose step is not odd
};
/// At most one of each kind for each loop, constants first: a flow that cannot take the constant, because the
/// loop's header is a source, reads the register.
std::vector<TripCount> find_trip_counts(const CountedFunction& function, const EdgePlaces& places,
                                        const TripCountKinds& kinds);

/// What a flow makes of a trip count.
enum class TripCountUse : std::uint8_t {
  none,
  threads,  ///< each thread counts
  elected,  ///< one of the lanes that are together counts for the warp
  lane_0,   ///< lane 0 does: all lanes of the warp go through the loop together
};

/// Makes nodes of the flow in front of the blocks of trip counts, which lead to them by an edge that the trip
/// count gives: for each loop the first trip count of which there is a use. Constants may be used only where
/// all that enters the loop's header from outside of the loop is an edge of its own, which is so for headers
/// that are no sources.
void count_by_trips(const CountedFunction& function, const EdgePlaces& places,
                    const std::vector<TripCount>& all,
                    const std::function<TripCountUse(const TripCount&)>& use_of, FlowGraph& flow);

/// By loop whose trip count is constant: the edges that enter it, by position in flow.edges.
std::map<std::uint32_t, std::vector<std::uint32_t>> entries_of_loops(const CountedFunction& function,
                                                                     const FlowGraph& flow);

}  // namespace lynxpp::ptx
