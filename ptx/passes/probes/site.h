// The sites of routines in a function, and the numbers by which plans refer to them.
#pragma once

#include <cstdint>
#include <optional>

#include "ptx/ir/code_builder.h"
#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

/// A location in a function where routines are inserted.
struct Site {
  ProbePoint point = ProbePoint::kernel_entry;
  std::uint32_t block = 0;
  const Instruction* instruction = nullptr;  ///< the instruction before or after the site, or null
  std::uint32_t access = 0;                  ///< index in memory_accesses(*instruction)
  const ProbeRoutine* routine = nullptr;     ///< the form to insert; null: Probe::routine
  std::uint32_t loop = no_loop;              ///< the loop that is entered or exited, for loop routines
  CodeOperand executions = 1;                ///< number of executions that the routine represents
  std::optional<CodeOperand> address = {};   ///< address of that access; nullopt: the one at the site
};

/// Returns the routine to insert at the site.
inline const ProbeRoutine& routine_at(const Probe& probe, const Site& site) {
  return site.routine != nullptr ? *site.routine : probe.routine;
}

/// True if the probe is enabled and has a site at this point of the instruction.
inline bool is_at(const Probe& probe, ProbePoint point, const Instruction& instruction) {
  return probe.enabled && probe.point == point && probe.matches(instruction);
}

/// True if the probe measures sectors or banks, and the addresses at the instruction do not determine them.
inline bool has_nothing_to_measure(const Probe& probe, const Instruction& instruction) {
  if (probe.effect != ProbeEffect::measures_sectors && probe.effect != ProbeEffect::measures_banks)
    return false;
  const std::optional<MemoryAccess> access = probe.access_at(instruction);
  return !access || !access->follows_from_lanes();
}

/// Returns the probe's position in SplicedCode::probes.
inline std::uint32_t number_of(const InstrumentationUnit& unit, const Probe& probe) {
  return static_cast<std::uint32_t>(&probe - unit.spliced.probes.data());
}

/// Returns the instruction's position in the function's body.
inline std::uint32_t index_of(const FunctionUnit& function, const Instruction& instruction) {
  return static_cast<std::uint32_t>(&instruction - function.function->body->instructions.data());
}

/// Returns the instruction's id in the unit.
inline std::uint32_t id_of(const FunctionUnit& function, const Instruction& instruction) {
  return function.first_instruction + index_of(function, instruction);
}

}  // namespace lynxpp::ptx
