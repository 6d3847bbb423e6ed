#include "ptx/passes/probes/code_template.h"

namespace lynxpp::ptx {
namespace {

void add_registers(const CodeRegister& reg, std::set<VirtualRegister>& registers) {
  if (const auto* const own = std::get_if<VirtualRegister>(&reg)) registers.insert(*own);
}

void add_registers(const CodeOperand& operand, std::set<VirtualRegister>& registers) {
  if (const auto* const reg = std::get_if<VirtualRegister>(&operand.value)) registers.insert(*reg);
  if (const auto* const list = std::get_if<CodeList>(&operand.value)) {
    for (const CodeOperand& element : list->elements) add_registers(element, registers);
  }
  if (const auto* const address = std::get_if<CodeAddress>(&operand.value))
    add_registers(address->base, registers);
}

/// Instantiates a template.
class Copier {
 public:
  Copier(const CodeTemplate& from, const SiteBinding& binding, NameSource& names)
      : from_(from), binding_(binding), numbers_(names.reserve(from.names)) {}

  void copy(const CodeStatement& statement, Code& copy) const {
    if (const auto* const instruction = std::get_if<CodeInstruction>(&statement)) {
      if (std::optional<CodeInstruction> copied = instruction_of(*instruction))
        copy.statements.emplace_back(std::move(*copied));
    } else if (const auto* const label = std::get_if<Label>(&statement)) {
      copy.statements.emplace_back(numbers_.of(*label));
    } else {
      copy.statements.push_back(statement);
    }
  }

 private:
  using Kind = CodeTemplate::Placeholder::Kind;

  /// nullopt: the result is unused.
  std::optional<CodeInstruction> instruction_of(const CodeInstruction& instruction) const {
    CodeInstruction copy{{}, instruction.opcode, {}};
    if (instruction.guard) copy.guard = copy_of(*instruction.guard);
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
      std::optional<CodeOperand> operand = operand_of(instruction.operands[i]);
      if (!operand && i == 0) return std::nullopt;
      copy.operands.push_back(operand ? std::move(*operand) : CodeOperand(0));
      const CodeTemplate::Placeholder* const value = placeholder(instruction.operands[i]);
      const bool loads_slot = value != nullptr && value->kind == Kind::slot && !binding_.slot;
      if (loads_slot) copy.opcode = binding_.slots.opcode();
    }
    return copy;
  }

  const CodeTemplate::Placeholder* placeholder(const CodeOperand& operand) const {
    const auto* const reg = std::get_if<VirtualRegister>(&operand.value);
    const auto found = reg == nullptr ? from_.placeholders.end() : from_.placeholders.find(*reg);
    return found == from_.placeholders.end() ? nullptr : &found->second;
  }

  std::optional<CodeOperand> value_of(const CodeTemplate::Placeholder& placeholder) const {
    switch (placeholder.kind) {
      case Kind::slot:
        if (binding_.slot) return binding_.slot(placeholder.index);
        return binding_.slots.address(binding_.first.slot + placeholder.index);
      case Kind::state: return binding_.state(binding_.first.state + placeholder.index);
      case Kind::variable: return Name{variable_name(binding_.first.variable + placeholder.index)};
      case Kind::site_value: return binding_.site_value(placeholder.name);
      case Kind::invariant: return binding_.invariants[placeholder.index];
    }
    return std::nullopt;
  }

  std::optional<CodeOperand> operand_of(const CodeOperand& operand) const {
    if (const CodeTemplate::Placeholder* const value = placeholder(operand)) return value_of(*value);
    return std::visit([&](const auto& value) -> CodeOperand { return copy_of(value); }, operand.value);
  }

  static CodeOperand copy_of(Name name) { return name; }
  static CodeOperand copy_of(SpecialRegister reg) { return reg; }
  static CodeOperand copy_of(std::int64_t constant) { return constant; }
  CodeOperand copy_of(VirtualRegister reg) const { return numbers_.of(reg); }
  CodeOperand copy_of(Label label) const { return numbers_.of(label); }
  CodePredicate copy_of(const CodePredicate& predicate) const {
    const auto* const reg = std::get_if<VirtualRegister>(&predicate.reg);
    return reg == nullptr ? predicate : CodePredicate(numbers_.of(*reg), predicate.is_negated);
  }
  CodeOperand copy_of(const CodeAddress& address) const {
    const auto* const reg = std::get_if<VirtualRegister>(&address.base);
    if (reg == nullptr) return address;
    const CodeOperand base = operand_of(*reg).value_or(*reg);
    if (const auto* const name = std::get_if<Name>(&base.value)) return CodeAddress{*name, address.offset};
    return CodeAddress{std::get<VirtualRegister>(base.value), address.offset};
  }
  CodeOperand copy_of(const CodeList& list) const {
    CodeList copy{list.kind, {}};
    for (const CodeOperand& element : list.elements)
      copy.elements.push_back(operand_of(element).value_or(CodeOperand(0)));
    return copy;
  }

  const CodeTemplate& from_;
  const SiteBinding& binding_;
  const NameSource::Numbers numbers_;
};

}  // namespace

std::string variable_name(std::uint32_t index) { return "__lynxpp_variable_" + std::to_string(index); }

std::set<VirtualRegister> registers_of(std::span<const CodeStatement> statements) {
  std::set<VirtualRegister> found;
  for (const CodeStatement& statement : statements) {
    const auto* const instruction = std::get_if<CodeInstruction>(&statement);
    if (instruction == nullptr) continue;
    if (instruction->guard) add_registers(instruction->guard->reg, found);
    for (const CodeOperand& operand : instruction->operands) add_registers(operand, found);
  }
  return found;
}

RoutineUses uses_of(const CodeTemplate& code) {
  RoutineUses uses;
  for (const VirtualRegister reg : registers_of(code.code.statements)) {
    const auto found = code.placeholders.find(reg);
    if (found == code.placeholders.end()) continue;
    const CodeTemplate::Placeholder& placeholder = found->second;
    if (placeholder.kind == CodeTemplate::Placeholder::Kind::slot) uses.slots.insert(placeholder.index);
    if (placeholder.kind == CodeTemplate::Placeholder::Kind::state) uses.states.insert(placeholder.index);
    if (placeholder.kind == CodeTemplate::Placeholder::Kind::site_value)
      uses.site_values.insert(placeholder.name);
  }
  for (const CodeStatement& statement : code.code.statements) {
    const auto* const instruction = std::get_if<CodeInstruction>(&statement);
    if (instruction == nullptr || instruction->operands.empty()) continue;
    const auto* const target = std::get_if<VirtualRegister>(&instruction->operands.front().value);
    const auto found = target == nullptr ? code.placeholders.end() : code.placeholders.find(*target);
    if (found != code.placeholders.end() && found->second.kind == CodeTemplate::Placeholder::Kind::state)
      uses.written_states.insert(found->second.index);
  }
  return uses;
}

Code CodeTemplate::copy(const SiteBinding& binding, NameSource& names_of_function) const {
  const Copier copier(*this, binding, names_of_function);
  Code copied;
  copied.statements.reserve(code.statements.size());
  for (const CodeStatement& statement : code.statements) copier.copy(statement, copied);
  return copied;
}

}  // namespace lynxpp::ptx
