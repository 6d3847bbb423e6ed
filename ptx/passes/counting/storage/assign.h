// Which counters are kept in registers and bits, and which are added to memory on the spot.
//
// A register costs one addition at each increment, and some instructions when it is flushed; an addition to
// memory on the spot costs an election and an access each time. So what repeats lies in registers, as far as
// there are some to spare; what happens once is a bit where registers are flushed anyway, or where enough of
// it is likely.
#pragma once

#include "ptx/passes/counting/counters.h"

namespace lynxpp::ptx {

struct PlanDraft;

/// How the flush takes a bit, in the order in which bits lie.
enum class BitUse : std::uint8_t {
  sum,          ///< summed over the lanes
  uniform_sum,  ///< the same in all lanes: counts as many as there are
  lane_0,
  any,
  all,
  count,
};
BitUse bit_use(const Counter& counter, const Accumulator& accumulator);

/// Fills in the plan's functions, slots and measured variables.
void assign_storage(PlanDraft& plan);

}  // namespace lynxpp::ptx
