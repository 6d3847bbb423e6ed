// What a routine computes from nothing but the thread and the launch, such as the number of its warp or the
// place of that warp's number in an array: the same every time a thread comes by.
//
// In a loop such a value is read from a register that the function's entry has filled, where that saves
// enough. ptxas does not do that by itself: what stands after a branch stays there (27 instructions for
// `counts[warpId()]`, seen in the code of ptxas 13.0 -O3). Which values: the cheapest cut through the graph
// of all that stays the same (minimum_cut.h), where an instruction costs one and a register of 32 bits what
// makes it worth while.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "ptx/ir/module.h"

namespace lynxpp::ptx {

/// A value that is worth a register.
struct RoutineInvariant {
  std::string_view reg;                     ///< of the routine's, as its body names it
  DataType type = DataType::none;           ///< of 32 or 64 bits
  std::vector<std::uint32_t> instructions;  ///< of the body, in its order: all that it takes
};

struct RoutineInvariants {
  std::vector<RoutineInvariant> values;
  /// Instructions of the body that nothing needs where the values are in registers.
  std::set<std::uint32_t> spared;
};

/// `word_prefix`: of operands that stand for words of the hidden parameter, which are constants of the
/// launch. What is known at a site only is none.
RoutineInvariants find_invariants(const Body& body, std::string_view word_prefix);

}  // namespace lynxpp::ptx
