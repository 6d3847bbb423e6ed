#include "engine/verify.h"

#include <set>
#include <string>
#include <string_view>

#include "ptx/emitter/emitter.h"
#include "ptx/parser/parser.h"

namespace lynxpp::engine {
namespace {

constexpr const char* file_name = "<instrumented>";
constexpr std::string_view register_prefix = "%lynxpp_";
constexpr std::string_view label_prefix = "$lynxpp_";

class BodyVerifier {
 public:
  explicit BodyVerifier(const ptx::Function& function) : function_(function), body_(*function.body) {}

  Status run() {
    if (Status once = declared_once(); !once) return once;
    for (const ptx::Statement& statement : body_.statements) {
      if (statement.kind != ptx::StatementKind::label || !statement.name.starts_with(label_prefix)) continue;
      if (!labels_.insert(statement.name).second)
        return complain("label", statement.name, "stands twice", statement.line);
    }
    for (const ptx::Instruction& instruction : body_.instructions) {
      const std::uint32_t scope = body_.statements[instruction.statement].scope;
      if (Status known = is_known(instruction.guard.predicate, scope, instruction.line); !known) return known;
      for (const ptx::Operand& operand : instruction.operands) {
        if (Status known = is_known(operand, scope, instruction.line); !known) return known;
      }
    }
    return success();
  }

 private:
  Status declared_once() const {
    std::set<std::pair<std::uint32_t, std::string_view>> declared;
    for (const ptx::RegisterDeclaration& declaration : body_.registers) {
      const bool is_new = declared.emplace(declaration.scope, declaration.name).second;
      if (!is_new && declaration.name.starts_with(register_prefix))
        return complain("register", declaration.name, "is declared twice", function_.line);
    }
    return success();
  }

  Status is_known(const ptx::Operand& operand, std::uint32_t scope, std::uint32_t line) const {
    for (const ptx::Operand& element : operand.elements) {
      if (Status known = is_known(element, scope, line); !known) return known;
    }
    return operand.kind == ptx::OperandKind::identifier ? is_known(operand.name, scope, line) : success();
  }

  Status is_known(std::string_view name, std::uint32_t scope, std::uint32_t line) const {
    if (name.starts_with(register_prefix) && body_.find_register(name, scope) == nullptr)
      return complain("register", name, "is not declared", line);
    if (name.starts_with(label_prefix) && !labels_.contains(name))
      return complain("label", name, "stands nowhere", line);
    return success();
  }

  Status complain(const char* kind, std::string_view name, const char* what, std::uint32_t line) const {
    return failure_at({file_name, line, 0},
                      std::string(kind) + " '" + std::string(name) + "' of '" + function_.name + "' " + what);
  }

  const ptx::Function& function_;
  const ptx::Body& body_;
  std::set<std::string_view> labels_;
};

}  // namespace

Status verify(const ptx::InstrumentationUnit& unit) {
  Result<ptx::Module> module = ptx::parse_module(ptx::emit(unit.module, unit.edits), file_name);
  if (!module) return module.error();
  for (const ptx::FunctionUnit& original : unit.functions) {
    ptx::Function* const function = module->find_function(original.function->name);
    if (function == nullptr || function->is_declaration())
      return failure("the function '" + original.function->name + "' is gone");
    if (Status parsed = ptx::parse_body(*module, *function, file_name); !parsed) return parsed;
    if (Status verified = BodyVerifier(*function).run(); !verified) return verified;
  }
  return success();
}

}  // namespace lynxpp::engine
