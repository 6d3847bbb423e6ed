#include "ptx/passes/probes/entry_values.h"

#include <algorithm>

#include "ptx/passes/cost_model.h"
#include "ptx/passes/counting/refinements.h"
#include "ptx/passes/module/entry.h"

namespace lynxpp::ptx {
namespace {

std::uint32_t units_of(RegisterType type) { return type == RegisterType::b64 ? 2 : 1; }

/// Returns the computation of the value, equal for all routines that use it.
Code computation_of(const ProbeRoutine& routine, std::uint32_t index, const SiteBinding& binding) {
  NameSource names;
  const VirtualRegister result = names.fresh(routine.invariants()[index]);
  return routine.invariant(index, binding, result, names);
}

}  // namespace

const EntryValues::Kept* EntryValues::find(const Code& computation) const {
  const auto found = std::ranges::find(kept_, computation, &Kept::computation);
  return found == kept_.end() ? nullptr : &*found;
}

void EntryValues::bind(const ProbeRoutine& routine, std::uint32_t block, SiteBinding& binding) {
  if (routine.invariants().empty() || unit_.options.has_few_registers ||
      unit_.options.without.contains(Refinement::entry_values))
    return;
  if (function_.analyses->loops().loop_of(block) == no_loop) return;
  std::vector<Code> computations;
  std::uint32_t more = 0;
  for (std::uint32_t i = 0; i < routine.invariants().size(); ++i) {
    computations.push_back(computation_of(routine, i, binding));
    if (find(computations[i]) == nullptr) more += units_of(routine.invariants()[i]);
  }
  if (units_ + more > cost::registers_of_entry_values) return;
  units_ += more;
  NameSource& names = unit_.edits.names(*function_.function);
  std::vector<VirtualRegister> registers;
  for (std::uint32_t i = 0; i < computations.size(); ++i) {
    const Kept* known = find(computations[i]);
    if (known == nullptr) {
      const VirtualRegister reg = names.fresh(routine.invariants()[i]);
      code_.append(routine.invariant(i, binding, reg, names));
      known = &kept_.emplace_back(std::move(computations[i]), reg);
    }
    registers.push_back(known->reg);
  }
  binding.invariants = std::move(registers);
}

void EntryValues::insert() {
  unit_.edits.insert_before(entry_position(*function_.function), std::move(code_));
}

}  // namespace lynxpp::ptx
