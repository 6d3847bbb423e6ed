// Makes the program's operation wait for an added one, so that the latency of the added one counts where the
// program waits for its own: an operand of the program's operation becomes a copy that depends on the result,
//
//   ld.shared.b32 result, [%r4];           // added
//   and.b32 none, result, zero;            // 0, which the assembler does not know
//   xor.b32 after, %r4, none;              // one machine instruction with the `and`
//   ld.shared.f32 %f1, [after];            // the program's
//
// or, where the added operation can be one that preserves every value, its result:
//
//   fma.rn.f32 after, %f3, one, minus_zero;  // added
//   fma.rn.f32 %f3, after, %f1, %f2;         // the program's
//
// This replaces additions that nothing waits for: it costs a kernel that is bound by throughput no more than
// they do, because such a kernel has warps enough to hide the wait, and what bounds it is not in this chain.
// Both forms wait, so the difference of `again` and `harmless` is the pattern's; against the original,
// `again` is the operation, with its latency.
#pragma once

#include <optional>
#include <vector>

#include "ptx/perturb/additions.h"

namespace lynxpp::ptx {

/// Replaces the register of the site's address operand, and returns the copy; nullopt if it has no register,
/// for example if the address is a variable's. The assembler can still see that an address of 32 bits is a
/// multiple of up to 16: it combines loads of consecutive words from shared memory.
std::optional<VirtualRegister> wait_at_address(Additions& to, const Operand& address,
                                               const std::vector<VirtualRegister>& results);

/// Replaces an operand of the site, a register of 4 or 8 bytes. Without results, in the form `harmless`, the
/// copy only depends on the operand. Returns false for other operands.
bool wait_at_operand(Additions& to, const Operand& operand, const std::vector<VirtualRegister>& results);

/// Returns the operand of the site, among candidates, that an operation which preserves values is added to;
/// nullopt without one, and if one has been added to the same value: the assembler would merge them.
std::optional<std::size_t> operand_to_precede(Additions& to, const std::vector<std::size_t>& candidates);

/// Repeats the site, which has one result and no side effect, in the form `again`. The site waits at one of
/// its operands, or nothing does if all are constant. Returns false, and builds nothing, if
/// the result is not a register of 2, 4 or 8 bytes.
bool repeat_and_wait(Additions& to);

}  // namespace lynxpp::ptx
