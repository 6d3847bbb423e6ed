#include "ptx/analysis/registers/registers.h"

#include <algorithm>

namespace lynxpp::ptx {
namespace {

std::uint32_t units_of(const RegisterDeclaration& declaration) {
  if (declaration.type == DataType::pred) return 0;
  return std::max(1U, (size_of(declaration.type) * declaration.vector + 3) / 4);
}

}  // namespace

RegisterUsage::RegisterUsage(const Body& body) : body_(body) {
  first_read_.reserve(body.instructions.size() + 1);
  first_write_.reserve(body.instructions.size() + 1);
  for (const Instruction& instruction : body.instructions) {
    add_instruction(instruction);
    first_read_.push_back(static_cast<std::uint32_t>(reads_.size()));
    first_write_.push_back(static_cast<std::uint32_t>(writes_.size()));
  }
}

void RegisterUsage::add_instruction(const Instruction& instruction) {
  const std::uint32_t scope = body_.statements[instruction.statement].scope;
  if (instruction.guarded()) {
    if (const RegisterId guard = number(instruction.guard.predicate, scope); guard != no_register)
      read(guard);
  }
  if (instruction.traits.kind == OpcodeClass::call) return add_call(instruction);
  const bool known = instruction.traits.is_known();
  for (std::size_t index = 0; index < instruction.operands.size(); ++index) {
    const Operand& operand = instruction.operands[index];
    const bool written =
        known && index < instruction.traits.destinations && operand.kind != OperandKind::address;
    const bool is_accumulator = instruction.op() == Op::wgmma;  // read before it is written
    if (!written || is_accumulator) read_operand(operand, scope);
    if (written) write_operand(operand, scope, instruction.guarded());
    // An unknown instruction may write any register it names outside addresses.
    if (!known && operand.kind != OperandKind::address) write_operand(operand, scope, true);
  }
  add_carry(instruction);
}

/// call (results), callee, (arguments): the call writes the list before the callee.
void RegisterUsage::add_call(const Instruction& call) {
  const std::uint32_t scope = body_.statements[call.statement].scope;
  const bool has_results = call.operands.size() > 1 && call.operands[0].kind == OperandKind::list;
  for (std::size_t index = 0; index < call.operands.size(); ++index) {
    if (index == 0 && has_results) continue;
    read_operand(call.operands[index], scope);
  }
  if (has_results) write_operand(call.operands[0], scope, call.guarded());
}

void RegisterUsage::add_carry(const Instruction& instruction) {
  if (instruction.traits.reads_carry()) read(carry());
  if (instruction.has(Modifier::cc)) write(carry(), instruction.guarded());
}

void RegisterUsage::read_operand(const Operand& operand, std::uint32_t scope) {
  if (operand.kind == OperandKind::identifier) {
    if (const RegisterId reg = number(operand.name, scope); reg != no_register) read(reg);
  }
  for (const Operand& element : operand.elements) read_operand(element, scope);
}

void RegisterUsage::write_operand(const Operand& operand, std::uint32_t scope, bool partial) {
  if (operand.kind == OperandKind::identifier) {
    const RegisterId reg = number(operand.name, scope);
    if (reg != no_register) write(reg, partial || registers_[reg].name.size() != operand.name.size());
  }
  for (const Operand& element : operand.elements) write_operand(element, scope, partial);
}

void RegisterUsage::read(RegisterId reg) {
  const auto begin = reads_.begin() + first_read_.back();
  if (std::find(begin, reads_.end(), reg) == reads_.end()) reads_.push_back(reg);
}

void RegisterUsage::write(RegisterId reg, bool partial) {
  const auto begin = writes_.begin() + first_write_.back();
  const auto found =
      std::find_if(begin, writes_.end(), [reg](const RegisterWrite& write) { return write.reg == reg; });
  if (found == writes_.end()) {
    writes_.push_back({reg, partial});
  } else {
    found->partial &= partial;
  }
}

RegisterId RegisterUsage::number(std::string_view name, std::uint32_t scope) {
  const auto [entry, fresh] = by_scope_.try_emplace({name, scope}, no_register);
  if (!fresh) return entry->second;
  const RegisterDeclaration* declaration = body_.find_register(name, scope);
  if (declaration == nullptr) return no_register;
  const auto index = static_cast<std::uint32_t>(declaration - body_.registers.data());
  const std::string_view plain = name == declaration->name ? name : name.substr(0, name.find('.'));
  const auto [known, unseen] =
      by_declaration_.try_emplace({plain, index}, static_cast<RegisterId>(registers_.size()));
  if (unseen) {
    registers_.push_back(
        {plain, declaration->type, units_of(*declaration), declaration->type == DataType::pred});
  }
  entry->second = known->second;
  return known->second;
}

RegisterId RegisterUsage::carry() {
  if (carry_ == no_register) {
    carry_ = static_cast<RegisterId>(registers_.size());
    registers_.push_back({"%cc", DataType::none, 0, false});
  }
  return carry_;
}

RegisterId RegisterUsage::find(std::string_view name, std::uint32_t instruction) const {
  const std::uint32_t scope = body_.statements[body_.instructions[instruction].statement].scope;
  const auto found = by_scope_.find({name, scope});
  return found == by_scope_.end() ? no_register : found->second;
}

}  // namespace lynxpp::ptx
