// Combines the counters of a warp's lanes and adds them to memory when its threads exit.
//
// The warp adds all counters in one access: lane i adds the i-th of up to 32. Sums take one reduction per
// register or per four bits. If a sum may overflow 32 bits, each lane adds its registers itself; before sm_80
// and with 64-bit registers, always. A warp whose counters are all zero adds nothing.
#pragma once

#include <optional>

#include "ptx/passes/counting/emit/context.h"

namespace lynxpp::ptx {

/// Flushes the function's registers and bits for the lanes for which the guard holds.
void append_flush(CodeBuilder& code, const CountContext& context, const std::optional<CodePredicate>& guard);

/// Adds a value that few lanes have to the counter's slot, each lane separately. `slot` is the result of
/// slots_of_warp().
void append_flush_by_lane(CodeBuilder& code, VirtualRegister number, CodeAddress slot,
                          const std::optional<CodePredicate>& guard);

/// Adds the sum of the active lanes' values to the slot.
void append_flush_of_sum(CodeBuilder& code, const CountContext& context, VirtualRegister number,
                         CodeAddress slot);

}  // namespace lynxpp::ptx
