// Which registers are live where, and how many machine registers that takes.
//
// A register is live at a point when some path from there reads it before it is wholly written. Partial
// writes (guarded ones, vector components) do not end a live range.
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

/// The most that is live at once, over all points of the function. An estimate of what ptxas will need: it
/// neither shortens live ranges by moving instructions nor knows what ptxas keeps elsewhere (uniform
/// registers, rematerialized values).
struct RegisterPressure {
  std::uint32_t units = 0;        ///< 32-bit registers
  std::uint32_t predicates = 0;   ///< their own maximum, perhaps at another point
  std::uint32_t instruction = 0;  ///< behind which `units` is reached first
};
/// Returns the number of live 32-bit registers at each instruction, including its results.
std::vector<std::uint32_t> live_registers(const ControlFlowGraph& graph, const RegisterUsage& usage,
                                          const Liveness& liveness);
RegisterPressure estimate_register_pressure(const ControlFlowGraph& graph, const RegisterUsage& usage,
                                            const Liveness& liveness);

}  // namespace lynxpp::ptx
