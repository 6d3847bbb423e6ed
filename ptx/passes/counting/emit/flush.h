// How the counters of a warp's lanes come together and go to memory when its threads exit.
//
// The warp adds all counters by one access, lane i the i-th of up to 32. Numbers are summed over the lanes by
// one reduction each, bits four at a time; what is the same in all lanes needs no reduction. Where a sum may
// not fit 32 bits each lane adds its own numbers instead, one after the other, by the same code. A warp that
// has counted nothing adds nothing.
#pragma once

#include <optional>

#include "ptx/passes/counting/emit/context.h"

namespace lynxpp::ptx {

/// Flushes what the function keeps in registers and bits, for the lanes for which the guard holds.
void append_flush(CodeBuilder& code, const CountContext& context, const std::optional<CodePredicate>& guard);

/// Adds a number that few lanes have to the counter's slot: each lane its own. `slots` as of slots_of_warp().
void append_flush_by_lane(CodeBuilder& code, bool is_wide, VirtualRegister number, CodeAddress slot,
                          const std::optional<CodePredicate>& guard);

/// Adds the sum of the numbers of all lanes that are here to the slot.
void append_flush_of_sum(CodeBuilder& code, const CountContext& context, VirtualRegister number,
                         CodeAddress slot);

}  // namespace lynxpp::ptx
