// Places in a function where routines stand, and the numbers by which plans name what is there.
#pragma once

#include <cstdint>
#include <optional>

#include "ptx/ir/code_builder.h"
#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

/// A place in a function where routines stand.
struct Site {
  ProbePoint point = ProbePoint::kernel_entry;
  std::uint32_t block = 0;
  const Instruction* instruction = nullptr;  ///< before or after which, or null
  std::uint32_t access = 0;                  ///< of memory_accesses(*instruction)
  const ProbeRoutine* routine = nullptr;     ///< which form; null: Probe::routine
  std::uint32_t loop = no_loop;              ///< of routines at loops: which one is entered or exited
  CodeOperand executions = 1;                ///< how many the routine stands for
  std::optional<CodeOperand> address = {};   ///< which the access had; nothing: the one at the site
};

/// What stands at the site.
inline const ProbeRoutine& routine_at(const Probe& probe, const Site& site) {
  return site.routine != nullptr ? *site.routine : probe.routine;
}

/// The probe is on, and stands at this point of the instruction.
inline bool stands_at(const Probe& probe, ProbePoint point, const Instruction& instruction) {
  return probe.enabled && probe.point == point && probe.matches(instruction);
}

/// True if the probe measures sectors or banks, and the addresses at the instruction do not determine them.
inline bool has_nothing_to_measure(const Probe& probe, const Instruction& instruction) {
  if (probe.effect != ProbeEffect::measures_sectors && probe.effect != ProbeEffect::measures_banks)
    return false;
  const std::optional<MemoryAccess> access = probe.access_at(instruction);
  return !access || !access->is_of_lanes();
}

/// Its position in SplicedCode::probes.
inline std::uint32_t number_of(const InstrumentationUnit& unit, const Probe& probe) {
  return static_cast<std::uint32_t>(&probe - unit.spliced.probes.data());
}

/// Its position in the function's body.
inline std::uint32_t index_of(const FunctionUnit& function, const Instruction& instruction) {
  return static_cast<std::uint32_t>(&instruction - function.function->body->instructions.data());
}

/// Its id in the unit.
inline std::uint32_t id_of(const FunctionUnit& function, const Instruction& instruction) {
  return function.first_instruction + index_of(function, instruction);
}

}  // namespace lynxpp::ptx
