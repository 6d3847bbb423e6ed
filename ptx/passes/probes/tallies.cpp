#include "ptx/passes/probes/tallies.h"

#include <algorithm>

namespace lynxpp::ptx {

namespace {

bool mentions(const CodeOperand& operand, VirtualRegister reg) {
  if (const auto* const list = std::get_if<CodeList>(&operand.value))
    return std::ranges::any_of(list->elements, [&](const CodeOperand& each) { return mentions(each, reg); });
  if (const auto* const address = std::get_if<CodeAddress>(&operand.value))
    return address->base == CodeRegister(reg);
  return operand == CodeOperand(reg);
}

Amounts amounts_of(ProbeEffect effect) {
  switch (effect) {
    case ProbeEffect::measures_banks: return Amounts::in_few_lanes;
    case ProbeEffect::measures_sectors: return Amounts::small;
    default: return Amounts::any;
  }
}

}  // namespace

TallyStorage Tallies::find(const Probe& probe, std::uint32_t number, bool is_high, const Site& site) const {
  if (site.instruction == nullptr) return {};
  return find_tally(unit_, {number_of(unit_, probe), number, is_high, id_of(function_, *site.instruction)});
}

std::vector<SiteTally> Tallies::at(const Probe& probe, const Site& site) const {
  std::vector<SiteTally> tallies;
  for (const std::string& name : probe.routine.site_values()) {
    if (!name.starts_with(tally_prefix)) continue;
    const TallyStorage storage = find(probe, number_at_end(name), name.starts_with("tally_high_"), site);
    const bool has_register = storage && !storage.is_bit();
    tallies.push_back({name, storage, has_register ? register_of(context(), storage) : VirtualRegister{}});
  }
  return tallies;
}

TallyStorage Tallies::exception_at(const Probe& probe, const Site& site) const {
  if (site.instruction == nullptr || unit_.counting.plan == nullptr) return {};
  const std::uint32_t number = number_of(unit_, probe);
  const std::uint32_t id = id_of(function_, *site.instruction);
  const auto found = std::ranges::find_if(unit_.counting.plan->tallies, [&](const auto& each) {
    return each.first.is_exception && each.first.probe == number && each.first.instruction == id;
  });
  return found == unit_.counting.plan->tallies.end() ? TallyStorage{} : find_tally(unit_, found->first);
}

void Tallies::add_one(const TallyStorage& tally, VirtualRegister predicate, CodeBuilder& code) const {
  if (tally.is_bit()) return add_mark(tally, predicate, code);
  if (tally.is_shared()) return add_lanes_to_shared(code, context(), tally, predicate);
  add_to(code, register_of(context(), tally), 1, predicate);
}

bool Tallies::set_bit_in(Code& copy, const TallyStorage& tally, VirtualRegister reg) const {
  CodeInstruction* adder = nullptr;
  for (CodeStatement& statement : copy.statements) {
    auto* const instruction = std::get_if<CodeInstruction>(&statement);
    if (instruction == nullptr ||
        std::ranges::none_of(instruction->operands,
                             [&](const CodeOperand& operand) { return mentions(operand, reg); }))
      continue;
    const std::vector<CodeOperand> adds_one{reg, reg, 1};
    if (adder != nullptr || instruction->opcode != "add.u32" || instruction->operands != adds_one)
      return false;
    adder = instruction;
  }
  if (adder == nullptr) return false;
  CodeInstruction setter = bit_setter(context(), tally);
  setter.guard = adder->guard;
  *adder = std::move(setter);
  return true;
}

void Tallies::add_flushes(const Probe& probe, const Site& site, CodeBuilder& code) const {
  for (const std::uint32_t number : probe.tallies) {
    for (const bool is_high : {false, true}) {
      const TallyStorage tally = find(probe, number, is_high, site);
      if (tally.is_shared()) flush_shared(code, context(), tally, amounts_of(probe.effect));
    }
  }
}

}  // namespace lynxpp::ptx
