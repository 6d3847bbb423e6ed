#include "ptx/perturb/operand_order.h"

#include <algorithm>
#include <string_view>

#include "ptx/analysis/flow/strong_components.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t depth_of_load = 8;  ///< in arithmetic operations, at least

/// True if the instruction reads the value as an address, and not as a value to store.
bool reads_as_address(const Instruction& instruction, std::string_view name) {
  if (!instruction.traits.is_memory_access()) return false;
  const auto is_named = [&](const Operand& each) { return each.name == name; };
  return std::ranges::none_of(instruction.operands, [&](const Operand& each) {
    return each.kind != OperandKind::address &&
           (is_named(each) || std::ranges::any_of(each.elements, is_named));
  });
}

/// True if addresses and loop counters are computed by such instructions.
bool computes_addresses(const Instruction& instruction) {
  switch (instruction.op()) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::mad:
    case Op::shl:
    case Op::bit_or:
    case Op::mov:
    case Op::cvt:
    case Op::cvta: return !instruction.traits.is_floating;
    default: return false;
  }
}

}  // namespace

OperandOrder::OperandOrder(FunctionAnalyses& analyses) : analyses_(analyses) {
  find_recurrences();
  find_depths();
  find_addresses();
}

void OperandOrder::find_recurrences() {
  const SsaForm& ssa = analyses_.ssa();
  const std::vector<Value>& values = ssa.values();
  std::vector<std::vector<std::uint32_t>> inputs(values.size());
  for (ValueId value = 0; value < values.size(); ++value) {
    const auto add = [&](ValueId input) {
      if (input != no_value) inputs[value].push_back(input);
    };
    const Value& made = values[value];
    if (made.kind == ValueKind::phi) {
      std::ranges::for_each(ssa.phi_inputs(value), add);
    } else if (made.kind == ValueKind::write) {
      std::ranges::for_each(ssa.reads(made.instruction), add);
      add(made.previous);
    }
  }
  recurrence_.resize(values.size());
  std::uint32_t cycle = 0;
  for (const std::vector<std::uint32_t>& component : strong_components(inputs)) {
    if (component.size() < 2) continue;
    ++cycle;
    for (const std::uint32_t value : component) recurrence_[value] = cycle;
  }
}

void OperandOrder::find_depths() {
  const SsaForm& ssa = analyses_.ssa();
  const std::vector<Instruction>& instructions = analyses_.function().body->instructions;
  const std::vector<std::uint32_t>& block_of = analyses_.graph().block_of;
  depth_.resize(instructions.size());
  for (std::uint32_t i = 0; i < instructions.size(); ++i) {
    for (const ValueId read : ssa.reads(i)) {
      if (read == no_value) continue;
      const Value& value = ssa.values()[read];
      const bool is_before = value.kind == ValueKind::write && value.instruction < i &&
                             block_of[value.instruction] == block_of[i];
      if (is_before) depth_[i] = std::max(depth_[i], depth_[value.instruction]);
    }
    depth_[i] += instructions[i].traits.reads_memory ? depth_of_load : 1;
  }
}

/// Assumes it of all values, and drops those with another use until nothing changes.
void OperandOrder::find_addresses() {
  const SsaForm& ssa = analyses_.ssa();
  const std::vector<Instruction>& instructions = analyses_.function().body->instructions;
  const std::vector<Value>& values = ssa.values();
  is_for_addresses_.assign(values.size(), true);
  const auto keeps = [&](ValueId value, const ValueUse& use) {
    if (use.kind != ValueUse::Kind::read) return bool(is_for_addresses_[use.user]);
    const Instruction& user = instructions[use.user];
    if (user.op() == Op::setp ||
        reads_as_address(user, analyses_.registers().registers()[values[value].reg].name))
      return true;
    return computes_addresses(user) && std::ranges::all_of(ssa.writes(use.user), [&](ValueId each) {
             return each == no_value || is_for_addresses_[each];
           });
  };
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (ValueId value = static_cast<ValueId>(values.size()); value-- > 0;) {  // uses come later, mostly
      if (!is_for_addresses_[value]) continue;
      if (std::ranges::all_of(ssa.uses(value), [&](const ValueUse& use) { return keeps(value, use); }))
        continue;
      is_for_addresses_[value] = false;
      is_changed = true;
    }
  }
}

bool OperandOrder::is_for_addresses(std::uint32_t instruction) const {
  const auto results = analyses_.ssa().writes(instruction);
  return std::ranges::all_of(results,
                             [&](ValueId each) { return each == no_value || is_for_addresses_[each]; });
}

/// True if the instruction yields a number, the address of a variable or a parameter.
bool OperandOrder::is_constant(std::uint32_t instruction) const {
  const Instruction& made = analyses_.function().body->instructions[instruction];
  if (made.traits.reads_memory) return made.traits.space == StateSpace::param;
  if (made.op() != Op::mov || made.operands.size() != 2) return false;
  const Operand& source = made.operands[1];
  return source.kind != OperandKind::special_register &&
         (source.kind != OperandKind::identifier ||
          analyses_.registers().find(source.name, instruction) == no_register);
}

std::optional<OperandOrder::Rank> OperandOrder::rank(std::uint32_t instruction,
                                                     const Operand& operand) const {
  const ValueId read = operand.negated ? no_value : value_of(instruction, operand);
  if (read == no_value) return std::nullopt;
  const Value& value = analyses_.ssa().values()[read];
  const std::vector<std::uint32_t>& block_of = analyses_.graph().block_of;
  const bool is_write = value.kind == ValueKind::write;
  if (value.kind == ValueKind::entry || (is_write && is_constant(value.instruction))) return std::nullopt;
  const std::uint32_t block = block_of[instruction];
  const std::uint32_t made_in = is_write ? block_of[value.instruction] : value.block;
  const std::uint32_t loop = analyses_.loops().loop_of(block);
  if (loop != no_loop && !analyses_.loops().contains(loop, made_in)) return std::nullopt;
  const auto results = analyses_.ssa().writes(instruction);
  const bool is_recurrent = recurrence_[read] != 0 && std::ranges::any_of(results, [&](ValueId each) {
                              return each != no_value && recurrence_[each] == recurrence_[read];
                            });
  return Rank{is_recurrent, is_write && made_in == block ? depth_[value.instruction] : 0};
}

std::optional<std::size_t> OperandOrder::last(std::uint32_t instruction,
                                              std::span<const std::size_t> candidates) const {
  const OperandList& operands = analyses_.function().body->instructions[instruction].operands;
  std::optional<std::size_t> best;
  std::optional<Rank> highest;
  for (const std::size_t each : candidates) {
    const std::optional<Rank> found = rank(instruction, operands[each]);
    if (!found || (highest && *found < *highest)) continue;
    highest = found;
    best = each;
  }
  return best;
}

ValueId OperandOrder::value_of(std::uint32_t instruction, const Operand& operand) const {
  if (operand.kind != OperandKind::identifier) return no_value;
  const RegisterId reg = analyses_.registers().find(operand.name, instruction);
  return reg == no_register ? no_value : analyses_.ssa().read_of(instruction, reg);
}

const Instruction* OperandOrder::definition(std::uint32_t instruction, const Operand& operand) const {
  const ValueId read = value_of(instruction, operand);
  if (read == no_value) return nullptr;
  const Value& value = analyses_.ssa().values()[read];
  return value.kind == ValueKind::write ? &analyses_.function().body->instructions[value.instruction]
                                        : nullptr;
}

}  // namespace lynxpp::ptx
