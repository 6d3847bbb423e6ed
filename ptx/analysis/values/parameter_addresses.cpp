#include "ptx/analysis/values/parameter_addresses.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace lynxpp::ptx {
namespace {

/// Walks from an address back to its sources.
class Walk {
 public:
  explicit Walk(FunctionAnalyses& analyses) : analyses_(analyses) {}

  std::optional<ParameterAddress> run(std::uint32_t instruction, const Operand& base, std::uint64_t offset) {
    visit(instruction, base, offset);
    while (is_known_ && !pending_.empty()) {
      const auto [value, added] = pending_.back();
      pending_.pop_back();
      visit(analyses_.ssa().values()[value], value, added);
    }
    return is_known_ ? found_ : std::nullopt;
  }

 private:
  /// Visits an operand to whose value `offset` is added.
  void visit(std::uint32_t instruction, const Operand& operand, std::uint64_t offset) {
    if (operand.kind != OperandKind::identifier || operand.negated) return give_up();
    const RegisterId reg = analyses_.registers().find(operand.name, instruction);
    if (reg == no_register)
      return end_at({operand.name, static_cast<std::uint64_t>(operand.offset) + offset});
    follow(analyses_.ssa().read_of(instruction, reg), offset);
  }

  void follow(ValueId value, std::uint64_t offset) {
    if (value == no_value) return give_up();
    const auto [known, is_new] = offsets_.try_emplace(value, offset);
    if (is_new) pending_.emplace_back(value, offset);
    // In a loop that changes the address.
    if (known->second != offset) give_up();
  }

  void visit(const Value& made, ValueId value, std::uint64_t offset) {
    switch (made.kind) {
      case ValueKind::entry: return give_up();
      case ValueKind::phi:
        for (const ValueId input : analyses_.ssa().phi_inputs(value)) follow(input, offset);
        return;
      case ValueKind::write: break;
    }
    if (made.previous != no_value) follow(made.previous, offset);
    const Instruction& instruction = analyses_.function().body->instructions[made.instruction];
    const OperandList& operands = instruction.operands;
    const bool is_wide = size_of(instruction.traits.type) == 8;
    if (instruction.op() == Op::mov && is_wide && operands.size() == 2)
      return visit(made.instruction, operands[1], offset);
    if (instruction.op() == Op::cvta && instruction.opcode.starts_with("cvta.param") && operands.size() == 2)
      return visit(made.instruction, operands[1], offset);
    const bool is_sum = instruction.op() == Op::add || instruction.op() == Op::sub;
    if (!is_sum || !is_wide || operands.size() != 3 || operands[2].kind != OperandKind::integer)
      return give_up();
    const auto constant = static_cast<std::uint64_t>(operands[2].integer);
    visit(made.instruction, operands[1], instruction.op() == Op::add ? offset + constant : offset - constant);
  }

  void end_at(const ParameterAddress& address) {
    const std::vector<Variable>& parameters = analyses_.function().parameters;
    const bool is_parameter =
        analyses_.function().is_entry && std::ranges::count(parameters, address.name, &Variable::name) != 0;
    if (!is_parameter || (found_ && *found_ != address)) return give_up();
    found_ = address;
  }

  void give_up() { is_known_ = false; }

  FunctionAnalyses& analyses_;
  std::map<ValueId, std::uint64_t> offsets_;
  std::vector<std::pair<ValueId, std::uint64_t>> pending_;
  std::optional<ParameterAddress> found_;
  bool is_known_ = true;
};

}  // namespace

std::optional<ParameterAddress> parameter_address(FunctionAnalyses& analyses, std::uint32_t instruction,
                                                  const Operand& address) {
  if (address.kind != OperandKind::address || address.elements.empty()) return std::nullopt;
  return Walk(analyses).run(instruction, address.elements[0], static_cast<std::uint64_t>(address.offset));
}

}  // namespace lynxpp::ptx
