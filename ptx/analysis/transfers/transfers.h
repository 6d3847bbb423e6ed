// Transfers between device memory and shared memory: stores to one of them whose value depends on a load from
// the other, and the loads that such values come from.
//
// A value depends on what it is computed from: through arithmetic, moves, comparisons and selections,
// predicates of guarded instructions, exchanges between lanes, loops, local memory, and the parameters and
// results of functions (context-insensitively). It does not depend on the addresses that it was loaded
// through, nor on branches. A value that passes through shared or device memory is two values: dependence
// starts again at the load that reads it back.
//
// Device memory is global memory, textures and surfaces. A generic access may refer to either memory unless
// its address decides (made by cvta of a shared variable, or not derived from one); at run time the access
// itself knows its memory. Atomic operations that combine their operand with the memory's contents (add, min,
// …) transfer values to device memory, but not into shared memory, where they only update the contents; exch
// and cas transfer in both directions. Copies between the two (cp.async, bulk copies) are transfers.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "ptx/analysis/analyses.h"

namespace lynxpp::ptx {

/// Directions of transfers that an access is part of, as the store or the load; a set of bits.
using TransferSet = std::uint8_t;
inline constexpr TransferSet no_transfer = 0;
inline constexpr TransferSet transfer_into_shared = 1;
inline constexpr TransferSet transfer_into_device = 2;

class Transfers {
 public:
  Transfers() = default;

  /// The transfers of memory_accesses(instruction).access[side]; empty for instructions that were not
  /// analysed.
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

/// Analyses a kernel and the functions of `module` that it may call. Takes time linear in the code size.
Transfers find_transfers(const Module& module, std::span<FunctionAnalyses* const> functions);

}  // namespace lynxpp::ptx
