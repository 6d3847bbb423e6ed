#include "ptx/analysis/values/address_roots.h"

#include <algorithm>

namespace lynxpp::ptx {
namespace {

/// Returns the common root of all paths; unknown if they differ.
std::optional<AddressRoot> merged(const std::optional<AddressRoot>& one,
                                  const std::optional<AddressRoot>& other) {
  if (!one) return other;
  return !other || *one == *other ? one : AddressRoot();
}

}  // namespace

std::optional<AddressRoot> AddressRoots::of_operand(std::uint32_t instruction, const Operand& operand) {
  if (operand.kind != OperandKind::identifier) return std::nullopt;
  const RegisterId reg = analyses_.registers().find(operand.name, instruction);
  if (reg == no_register) return AddressRoot{AddressRoot::Kind::variable, operand.name, 0};
  const ValueId value = analyses_.ssa().read_of(instruction, reg);
  return value == no_value ? std::nullopt : of_value(value);
}

std::optional<AddressRoot> AddressRoots::of_value(ValueId value) {
  // In a cycle, the other inputs decide.
  const auto [known, is_new] = known_.try_emplace(value, std::nullopt);
  if (!is_new) return known->second;
  const Value& made = analyses_.ssa().values()[value];
  std::optional<AddressRoot> root;
  switch (made.kind) {
    case ValueKind::entry: break;
    case ValueKind::write: root = of_write(made.instruction); break;
    case ValueKind::phi:
      for (const ValueId input : analyses_.ssa().phi_inputs(value)) {
        if (input != no_value && input != value) root = merged(root, of_value(input));
      }
      break;
  }
  return known_[value] = root;
}

std::optional<AddressRoot> AddressRoots::of_write(std::uint32_t at) {
  const Instruction& instruction = analyses_.function().body->instructions[at];
  const OperandList& operands = instruction.operands;
  if (instruction.traits.reads_memory) return of_load(instruction);
  switch (instruction.op()) {
    case Op::mov:
    case Op::cvta: return operands.size() == 2 ? of_operand(at, operands[1]) : std::nullopt;
    case Op::mad: return operands.size() == 4 ? of_operand(at, operands[3]) : std::nullopt;
    case Op::add:
    case Op::sub:
    case Op::bit_or:
    case Op::bit_and:
    case Op::selp:
      return operands.size() < 3 ? std::nullopt
                                 : merged(of_operand(at, operands[1]), of_operand(at, operands[2]));
    default: return std::nullopt;
  }
}

std::optional<AddressRoot> AddressRoots::of_load(const Instruction& instruction) const {
  const auto address = std::ranges::find(instruction.operands, OperandKind::address, &Operand::kind);
  const bool has_address = address != instruction.operands.end() && !address->elements.empty();
  if (size_of(instruction.traits.type) != 8 || !has_address) return std::nullopt;
  const Function& function = analyses_.function();
  const std::string_view name = address->elements[0].name;
  const bool is_parameter =
      instruction.traits.space == StateSpace::param && function.is_entry &&
      std::ranges::find(function.parameters, name, &Variable::name) != function.parameters.end();
  if (!is_parameter) return AddressRoot();
  return AddressRoot{AddressRoot::Kind::parameter, name, static_cast<std::uint64_t>(address->offset)};
}

}  // namespace lynxpp::ptx
