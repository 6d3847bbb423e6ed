// Finds what a routine computes only from the thread and the launch, such as its warp number or an address
// derived from it: such values are equal at each execution by a thread.
//
// In a loop, such a value is read from a register set at the function's entry, if that saves enough
// instructions. ptxas does not hoist it: code after a branch stays there (27 instructions for
// `counts[warpId()]` with ptxas 13.0 -O3). The values are chosen by a minimum cut of the invariant expression
// graph (minimum_cut.h), in which an instruction costs one and a 32-bit register its break-even number of
// instructions.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "ptx/ir/module.h"

namespace lynxpp::ptx {

/// A value that is worth a register.
struct RoutineInvariant {
  std::string_view reg;                     ///< the routine's register, by its name in the body
  DataType type = DataType::none;           ///< 32 or 64 bits
  std::vector<std::uint32_t> instructions;  ///< the instructions of the body, in order, that compute it
};

struct RoutineInvariants {
  std::vector<RoutineInvariant> values;
  /// Instructions of the body that are unused if the values are in registers.
  std::set<std::uint32_t> spared;
};

/// `word_prefix` is the prefix of operands that represent parameter slots, which are constant in a launch.
/// Values that depend on the site are not invariants.
RoutineInvariants find_invariants(const Body& body, std::string_view word_prefix);

}  // namespace lynxpp::ptx
