// The functions of a kernel's variant that are counted, and how control gets into and out of them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ptx/analysis/analyses.h"
#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

/// A function of the unit, for planning. Borrows the unit.
struct CountedFunction {
  const FunctionUnit* unit = nullptr;
  FunctionAnalyses* analyses = nullptr;
  std::uint32_t index = 0;  ///< in ReachedFunctions::functions; 0 is the kernel
  /// How many threads and warps enter is known: from the launch, or from how often `callers` run.
  bool entry_is_known = true;
  /// The calls that lead here, as (position among the counted functions, block); empty for the kernel and
  /// where the entry is counted.
  std::vector<std::pair<std::size_t, std::uint32_t>> callers;
  /// Per block: it ends with a call from which threads may not come back, because they exit the kernel.
  std::vector<bool> call_may_exit;
  bool loses_registers = false;  ///< some thread may exit the kernel in a function that this one calls

  bool is_kernel() const { return index == 0; }
  const ControlFlowGraph& graph() const { return unit->graph(); }
  const std::vector<Instruction>& instructions() const { return unit->function->body->instructions; }
};

/// Callers stand before the functions that they call.
std::vector<CountedFunction> find_counted_functions(InstrumentationUnit& unit);

}  // namespace lynxpp::ptx
