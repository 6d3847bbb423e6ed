// Live registers and an estimate of the machine registers they need.
//
// A register is live at a point if some path from there reads it before it is fully written. Partial writes
// (guarded ones, vector components) do not end a live range.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/analysis/flow/control_flow_graph.h"
#include "ptx/analysis/registers/registers.h"

namespace lynxpp::ptx {

class Liveness {
 public:
  Liveness(const ControlFlowGraph& graph, const RegisterUsage& usage);

  /// Ascending.
  const std::vector<RegisterId>& live_in(std::uint32_t block) const { return live_in_[block]; }
  const std::vector<RegisterId>& live_out(std::uint32_t block) const { return live_out_[block]; }

 private:
  std::vector<std::vector<RegisterId>> live_in_, live_out_;
};

/// Maximum number of registers live at once, over all points of the function. This estimates what ptxas will
/// need: it ignores instruction scheduling that shortens live ranges and values that ptxas keeps elsewhere
/// (uniform registers, rematerialized values).
struct RegisterPressure {
  std::uint32_t units = 0;        ///< 32-bit registers
  std::uint32_t predicates = 0;   ///< a maximum of their own, perhaps at another point
  std::uint32_t instruction = 0;  ///< after which `units` is first reached
};
/// Returns the number of live 32-bit registers at each instruction, including its results.
std::vector<std::uint32_t> live_registers(const ControlFlowGraph& graph, const RegisterUsage& usage,
                                          const Liveness& liveness);
RegisterPressure estimate_register_pressure(const ControlFlowGraph& graph, const RegisterUsage& usage,
                                            const Liveness& liveness);

}  // namespace lynxpp::ptx
