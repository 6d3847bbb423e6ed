#include "ptx/passes/probes/code_reader.h"

#include <algorithm>

#include "ptx/ir/array_element.h"

namespace lynxpp::ptx {

Result<std::string> declaration_of(const Variable& variable, const std::string& name) {
  const bool is_parameter = variable.space == StateSpace::param;
  if (!is_parameter && variable.space != StateSpace::local)
    return failure("the variable '" + variable.name + "' cannot be moved into other code");
  std::string text = is_parameter ? ".param" : ".local";
  if (variable.is_array) text += " .align " + std::to_string(variable.alignment);
  if (variable.vector > 1) text += " .v" + std::to_string(variable.vector);
  text += " " + variable.type_text + " " + name;
  return variable.is_array ? text + "[" + std::to_string(variable.elements) + "]" : text;
}

CodeReader::CodeReader(const Module& module, const Body& body, NameSource& names, Renaming renaming)
    : module_(module), body_(body), names_(names), renaming_(std::move(renaming)) {
  for (const Statement& statement : body.statements) {
    if (statement.kind == StatementKind::label) labels_.emplace(statement.name, std::nullopt);
  }
}

Status CodeReader::read_all(const std::function<Status(const Instruction&)>& read_instruction,
                            CodeBuilder& code) {
  if (!body_.branch_targets.empty()) return failure("it jumps through a table");
  if (Status declared = declare(0, code); !declared) return declared;
  for (std::uint32_t i = 0; i < body_.statements.size(); ++i) {
    const Statement& statement = body_.statements[i];
    Status done = success();
    switch (statement.kind) {
      case StatementKind::label: code.place(*label_of(statement.name)); break;
      case StatementKind::instruction: done = read_instruction(body_.instructions[statement.index]); break;
      case StatementKind::scope_begin:
      case StatementKind::scope_end:
        // Scopes that declare only registers are dropped.
        for (std::uint32_t scope = 1; scope < body_.scopes.size(); ++scope) {
          if (std::ranges::none_of(body_.variables,
                                   [&](const Variable& each) { return declares(each, scope); }))
            continue;
          if (body_.scopes[scope].end == i) code.close_scope();
          if (body_.scopes[scope].begin != i) continue;
          code.open_scope();
          done = declare(scope, code);
        }
        break;
      default: break;
    }
    if (!done) return done;
  }
  return success();
}

bool CodeReader::declares(const Variable& variable, std::uint32_t scope) const {
  return variable.scope == scope && !(leaves_local_memory_out_ && variable.space == StateSpace::local);
}

Status CodeReader::declare(std::uint32_t scope, CodeBuilder& code) {
  for (const Variable& variable : body_.variables) {
    if (!declares(variable, scope)) continue;
    const std::optional<Renamed> renamed = renaming_(variable.name);
    const Name* const name = renamed ? std::get_if<Name>(&renamed->operand.value) : nullptr;
    const Result<std::string> text = declaration_of(variable, name != nullptr ? name->text : variable.name);
    if (!text) return text.error();
    code.add_text(*text + ";");
  }
  return success();
}

Status CodeReader::read(const Instruction& instruction, CodeBuilder& code) {
  std::vector<CodeOperand> operands;
  for (const Operand& each : instruction.operands) {
    Result<CodeOperand> read = operand(each, scope_of(instruction));
    if (!read) return read.error();
    operands.push_back(std::move(*read));
  }
  std::string opcode(instruction.op() == Op::call ? "call" : instruction.opcode);
  code.emit_if(guard(instruction), std::move(opcode), std::move(operands));
  return success();
}

std::optional<CodePredicate> CodeReader::guard(const Instruction& instruction) {
  if (!instruction.guarded()) return std::nullopt;
  const auto reg = register_of(instruction.guard.predicate, scope_of(instruction));
  return reg ? CodePredicate(*reg, instruction.guard.negated) : predicate_of(instruction.guard);
}

Result<CodeOperand> CodeReader::operand(const Operand& operand, std::uint32_t scope) {
  switch (operand.kind) {
    case OperandKind::identifier: return named(operand, scope);
    case OperandKind::special_register: return CodeOperand(SpecialRegister{std::string(operand.name)});
    case OperandKind::integer: return CodeOperand(operand.integer);
    case OperandKind::floating: return CodeOperand(text_of(operand));
    case OperandKind::sink: return CodeOperand(Name{"_"});
    case OperandKind::address: return address(operand, scope);
    case OperandKind::vector: return list(CodeList::Kind::vector, operand, scope);
    case OperandKind::pair: return list(CodeList::Kind::pair, operand, scope);
    case OperandKind::list: return list(CodeList::Kind::arguments, operand, scope);
  }
  return refuse(operand);
}

Result<CodeOperand> CodeReader::list(CodeList::Kind kind, const Operand& operand, std::uint32_t scope) {
  CodeList list{kind, {}};
  for (const Operand& element : operand.elements) {
    Result<CodeOperand> read = this->operand(element, scope);
    if (!read) return read.error();
    list.elements.push_back(std::move(*read));
  }
  return CodeOperand(std::move(list));
}

Result<CodeOperand> CodeReader::named(const Operand& operand, std::uint32_t scope) {
  if (const std::optional<Label> label = label_of(operand.name)) return CodeOperand(*label);
  if (const std::optional<Renamed> renamed = renaming_(operand.name)) {
    const std::int64_t offset = renamed->offset + operand.offset;
    if (offset == 0 && !operand.negated) return renamed->operand;
    const Name* const name = std::get_if<Name>(&renamed->operand.value);
    if (name == nullptr || operand.negated) return refuse(operand);
    return CodeOperand(Name{name->text + "+" + std::to_string(offset)});
  }
  const RegisterDeclaration* const declared = body_.find_register(operand.name, scope);
  if (declared == nullptr) return CodeOperand(text_of(operand));
  const std::optional<VirtualRegister> reg = register_of(operand.name, scope);
  if (!reg || operand.offset != 0) return refuse(operand);
  if (!operand.negated) return CodeOperand(*reg);
  if (reg->type != RegisterType::pred) return refuse(operand);
  return CodeOperand(!CodePredicate(*reg));
}

Result<CodeOperand> CodeReader::address(const Operand& operand, std::uint32_t scope) {
  if (operand.elements.size() != 1 || array_element(operand)) return refuse(operand);
  const Operand& base = operand.elements[0];
  if (base.kind == OperandKind::integer)
    return CodeOperand(CodeAddress{Name{std::to_string(base.integer)}, operand.offset});
  if (base.kind != OperandKind::identifier) return refuse(operand);
  const std::optional<Renamed> renamed = renaming_(base.name);
  const Result<CodeOperand> plain = renamed ? renamed->operand : named(base, scope);
  if (!plain) return plain.error();
  const std::int64_t offset = operand.offset + (renamed ? renamed->offset : 0);
  if (const auto* const reg = std::get_if<VirtualRegister>(&plain->value))
    return CodeOperand(CodeAddress{*reg, offset});
  if (const auto* const name = std::get_if<Name>(&plain->value))
    return CodeOperand(CodeAddress{*name, offset});
  return refuse(operand);
}

std::optional<Label> CodeReader::label_of(std::string_view name) {
  const auto label = labels_.find(name);
  if (label == labels_.end()) return std::nullopt;
  if (!label->second) label->second = names_.fresh_label();
  return label->second;
}

std::optional<VirtualRegister> CodeReader::register_of(std::string_view name, std::uint32_t scope) {
  const RegisterDeclaration* const declared = body_.find_register(name, scope);
  const bool is_part = name.find('.') != std::string_view::npos;
  if (declared == nullptr || declared->vector > 1 || is_part) return std::nullopt;
  const bool is_predicate = declared->type == DataType::pred;
  const std::optional<RegisterType> type =
      is_predicate ? RegisterType::pred : register_of_bytes(size_of(declared->type));
  if (!type) return std::nullopt;
  const auto known = registers_.find({declared, name});
  if (known != registers_.end()) return known->second;
  return registers_.emplace(std::pair(declared, name), names_.fresh(*type)).first->second;
}

Failure CodeReader::refuse(const Operand& operand) const {
  return failure("its operand '" + text_of(operand).text + "' cannot be moved into other code");
}

}  // namespace lynxpp::ptx
