#include "ptx/parser/body_builder.h"

#include <algorithm>
#include <utility>

#include "ptx/ir/source_files.h"

namespace lynxpp::ptx {

BodyBuilder::BodyBuilder(Body& body, const Function& function, const Module& module)
    : body_(body), function_(function), module_(module) {
  body_.scopes.push_back({});
  constexpr std::uint32_t bytes_of_instruction = 64;  // rarely fewer, so that little is reserved in vain
  const std::uint32_t expected = (function.body_text.end - function.body_text.begin) / bytes_of_instruction;
  body_.instructions.reserve(expected);
  body_.statements.reserve(expected);
  add_register_parameters(function.parameters);
  add_register_parameters(function.returns);
}

/// Adds parameters and results in registers (PTX before 2.0) as registers of the body.
void BodyBuilder::add_register_parameters(const std::vector<Variable>& parameters) {
  for (const Variable& each : parameters) {
    if (each.space != StateSpace::reg) continue;
    // The name is a view of the source, as for other registers: functions may move.
    const std::string_view text = module_.text(each.text);
    body_.registers.push_back({text.substr(text.rfind(each.name), each.name.size()), each.type, each.vector});
  }
}

const Variable* BodyBuilder::find_variable(std::string_view name) const {
  if (const Variable* own = body_.find_variable(name, scope_)) return own;
  for (const std::vector<Variable>* parameters : {&function_.parameters, &function_.returns}) {
    const auto found = std::ranges::find(*parameters, name, &Variable::name);
    if (found != parameters->end()) return &*found;
  }
  return nullptr;
}

void BodyBuilder::add_statement(StatementKind kind, StatementLocation location, std::string_view name) {
  body_.statements.push_back({kind, location.text, location.line, scope_, 0, name});
}

void BodyBuilder::begin_scope(StatementLocation location) {
  const auto statement = static_cast<std::uint32_t>(body_.statements.size());
  add_statement(StatementKind::scope_begin, location, "{");
  body_.scopes.push_back({scope_, statement, statement});
  scope_ = static_cast<std::uint32_t>(body_.scopes.size() - 1);
}

bool BodyBuilder::end_scope(StatementLocation location) {
  if (scope_ == 0) return false;
  Scope& scope = body_.scopes[scope_];
  scope.end = static_cast<std::uint32_t>(body_.statements.size());
  scope_ = scope.parent;
  add_statement(StatementKind::scope_end, location, "}");
  return true;
}

const OpcodeTraits& BodyBuilder::traits_of(std::string_view opcode) {
  const auto [entry, fresh] = traits_.try_emplace(opcode);
  if (fresh) entry->second = classify(opcode);
  return entry->second;
}

void BodyBuilder::add_instruction(StatementLocation location, const Instruction& parsed) {
  Instruction& instruction = body_.instructions.emplace_back(parsed);
  instruction.text = location.text;
  instruction.line = location.line;
  instruction.statement = static_cast<std::uint32_t>(body_.statements.size());
  instruction.source_file = position_.file;
  instruction.source_line = position_.line;
  instruction.call_site = position_.outer;
  instruction.from_library = from_library_;
  instruction.calls_register =
      instruction.traits.kind == OpcodeClass::call && is_register_called(instruction);
  add_statement(StatementKind::instruction, location, {});
  body_.statements.back().index = static_cast<std::uint32_t>(body_.instructions.size() - 1);
}

/// call (results), callee, (arguments), targets: the callee is the first operand that is not a list.
bool BodyBuilder::is_register_called(const Instruction& call) const {
  const auto callee = std::ranges::find(call.operands, OperandKind::identifier, &Operand::kind);
  return callee != call.operands.end() && find_register(callee->name) != nullptr;
}

void BodyBuilder::add_registers(StatementLocation location, std::vector<RegisterDeclaration> declarations) {
  for (RegisterDeclaration& declaration : declarations) {
    declaration.scope = scope_;
    body_.registers.push_back(declaration);
  }
  body_.index_new_names();
  add_statement(StatementKind::declaration, location, ".reg");
}

void BodyBuilder::add_variables(StatementLocation location, std::vector<Declarator> declarators,
                                std::string_view first_word) {
  for (Declarator& declarator : declarators) {
    declarator.variable.scope = scope_;
    body_.variables.push_back(std::move(declarator.variable));
  }
  body_.index_new_names();
  add_statement(StatementKind::declaration, location, first_word);
}

void BodyBuilder::add_targets(StatementLocation location, TargetList list, bool branches) {
  list.scope = scope_;
  (branches ? body_.branch_targets : body_.call_targets).push_back(std::move(list));
  add_statement(StatementKind::directive, location, branches ? ".branchtargets" : ".calltargets");
}

void BodyBuilder::add_prototype(StatementLocation location, std::string_view name) {
  body_.call_targets.push_back({name, {}, scope_});
  add_statement(StatementKind::directive, location, ".callprototype");
}

void BodyBuilder::add_location(StatementLocation location, SourcePosition at,
                               std::optional<SourcePosition> inlined_at, std::string_view function) {
  const std::uint32_t outer = inlined_at ? call_site_of(*inlined_at, function) : no_call_site;
  inlined_[at] = outer;
  position_ = {at.file, at.line, outer};
  from_library_ = false;
  // A library's own kernel has no caller outside the library: it keeps its position.
  for (CallSite call = position_; call.outer != no_call_site && is_in_library(call.file);) {
    call = body_.call_sites[call.outer];
    if (is_in_library(call.file)) continue;
    position_ = call;
    from_library_ = true;
  }
  add_statement(StatementKind::directive, location, ".loc");
}

std::uint32_t BodyBuilder::call_site_of(SourcePosition inlined_at, std::string_view function) {
  const auto caller = inlined_.find(inlined_at);
  const std::uint32_t outer = caller == inlined_.end() ? no_call_site : caller->second;
  const auto next = static_cast<std::uint32_t>(body_.call_sites.size());
  const auto [known, is_new] =
      known_call_sites_.try_emplace({inlined_at.file, inlined_at.line, outer, function}, next);
  if (is_new) body_.call_sites.push_back({inlined_at.file, inlined_at.line, outer, function});
  return known->second;
}

bool BodyBuilder::is_in_library(std::uint32_t file) {
  const auto [known, is_new] = library_files_.try_emplace(file, false);
  if (is_new) {
    const std::string* const path = module_.find_file(file);
    known->second = path != nullptr && is_library_header(*path);
  }
  return known->second;
}

void BodyBuilder::finish() {
  body_.scopes[0].end = static_cast<std::uint32_t>(body_.statements.size());
  body_.index_new_names();
}

}  // namespace lynxpp::ptx
