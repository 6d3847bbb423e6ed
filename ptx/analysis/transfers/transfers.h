// Transfers between device memory and shared memory: stores to the one whose value depends on a load from the
// other, and the loads that such values come from.
//
// A value depends on what it is computed from: through arithmetic, moves, comparisons and selections,
// predicates of guarded instructions, exchanges between lanes, loops, local memory, and the parameters and
// results of functions, whose callers are not told apart. It does not depend on addresses that it was loaded
// through, nor on branches. What passes through shared or device memory itself is two values: whoever loads
// it again begins anew.
//
// Device memory is global memory, textures and surfaces. Of a generic access both is supposed unless its
// address tells (made by cvta of a shared variable, or by nothing that leads there); the access itself knows
// where it leads. Atomic operations that combine their operand with what is there (add, min, …) take values
// to device memory, but bring none into shared memory, where they only go on with what is there; exch and cas
// do. Copies (cp.async, bulk copies) between the two are transfers.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "ptx/analysis/analyses.h"

namespace lynxpp::ptx {

/// Directions that an access is an end of, the store or the load; a set of bits.
using TransferSet = std::uint8_t;
inline constexpr TransferSet no_transfer = 0;
inline constexpr TransferSet transfer_into_shared = 1;
inline constexpr TransferSet transfer_into_device = 2;

class Transfers {
 public:
  Transfers() = default;

  /// Of memory_accesses(instruction).access[side]; none of instructions that were not looked at.
  TransferSet of(const Instruction& instruction, std::uint32_t side) const {
    const auto found = ends_.find(&instruction);
    return found == ends_.end() ? no_transfer : found->second[side];
  }
  void add(const Instruction& instruction, std::uint32_t side, TransferSet set) {
    if (set != no_transfer) ends_[&instruction][side] |= set;
  }

 private:
  std::unordered_map<const Instruction*, std::array<TransferSet, 2>> ends_;
};

/// Of a kernel and the functions of `module` that it may call. Takes time in proportion to the code.
Transfers find_transfers(const Module& module, std::span<FunctionAnalyses* const> functions);

}  // namespace lynxpp::ptx
