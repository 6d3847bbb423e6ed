// The counted functions of a kernel's variant, and how control enters and exits them.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "ptx/analysis/analyses.h"
#include "ptx/ir/module.h"
#include "ptx/passes/counting/refinements.h"
#include "ptx/passes/probe.h"
#include "ptx/passes/reached.h"

namespace lynxpp::ptx {

/// The inputs of counting, except the requested counts.
struct CountInputs {
  const Module& module;
  const ReachedFunctions& reached;
  const std::vector<Probe>& probes;
  const std::set<Refinement>& without;  ///< disabled refinements
  int sm = 0;                           ///< compute capability × 10 of the variant
  bool is_wide = false;                 ///< 64-bit registers
  bool has_few_registers = false;       ///< VariantOptions::has_few_registers
};

/// A function of the unit, for planning. Refers to the unit.
struct CountedFunction {
  const FunctionUnit* unit = nullptr;
  FunctionAnalyses* analyses = nullptr;
  std::uint32_t index = 0;  ///< in ReachedFunctions::functions; 0 is the kernel
  /// True if the number of entering threads and warps is known: from the launch, or from the counts of
  /// `callers`.
  bool entry_is_known = true;
  /// The call sites of this function, as (position among the counted functions, block); empty for the kernel
  /// and if the entry is counted.
  std::vector<std::pair<std::size_t, std::uint32_t>> callers;
  /// Per block: true if it ends in a call from which threads may not return, because they exit the kernel.
  std::vector<bool> call_may_exit;
  bool loses_registers = false;  ///< a thread may exit the kernel in a callee

  bool is_kernel() const { return index == 0; }
  const ControlFlowGraph& graph() const { return unit->graph(); }
  const std::vector<Instruction>& instructions() const { return unit->function->body->instructions; }
};

/// Returns callers before their callees.
std::vector<CountedFunction> find_counted_functions(const Module& module, const ReachedFunctions& reached);

}  // namespace lynxpp::ptx
