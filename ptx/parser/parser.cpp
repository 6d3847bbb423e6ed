#include "ptx/parser/parser.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ptx/parser/body_builder.h"
#include "ptx/parser/cursor.h"
#include "ptx/parser/grammar_parser.h"
#include "ptx/parser/statement_reader.h"

namespace lynxpp::ptx {
namespace {

constexpr std::size_t maximum_syntax_errors = 20;

std::uint32_t line_of_body(const Module& module, const Function& function) {
  const std::string_view header = module.text({function.text.begin, function.body_text.begin});
  return function.line + count_newlines(header);
}

/// Limit on edges: many branches that share a long target list would exhaust memory.
constexpr std::size_t maximum_indexed_targets = 250'000;

Status check_indexed_branches(const Body& body, const std::string& name) {
  const auto labels =
      static_cast<std::size_t>(std::ranges::count(body.statements, StatementKind::label, &Statement::kind));
  std::size_t targets = 0;
  for (const Instruction& instruction : body.instructions) {
    if (instruction.op() != Op::brx || instruction.operands.empty()) continue;
    const TargetList* const list = body.find_branch_targets(instruction.operands.back().name,
                                                            body.statements[instruction.statement].scope);
    targets += list != nullptr ? list->targets.size() : labels;
    if (targets > maximum_indexed_targets)
      return failure_at({name, instruction.line, 1, 1}, "the function's indexed branches have more than " +
                                                            std::to_string(maximum_indexed_targets) +
                                                            " targets together");
  }
  return success();
}

Result<Body> parse(const Module& module, const Function& function, const std::string& name,
                   BodyParsing parsing) {
  Body body;
  BodyBuilder builder(body, function, module);
  StatementReader reader(module, function, line_of_body(module, function), builder);
  std::optional<GrammarParser> grammar;  // rarely needed
  while (!reader.at_end()) {
    if (parsing == BodyParsing::fast && reader.read()) continue;
    if (!grammar) grammar.emplace(module, function, name, builder);
    reader.move_to(grammar->parse_statement(reader.position(), reader.line()));
    if (grammar->syntax_errors() >= maximum_syntax_errors) break;
  }
  if (!grammar || grammar->diagnostics().empty()) {
    builder.finish();
    if (Status fits = check_indexed_branches(body, name); !fits) return fits.error();
    return body;
  }
  Diagnostics diagnostics = grammar->diagnostics();
  std::ranges::stable_sort(diagnostics, {}, [](const Diagnostic& diagnostic) {
    return std::pair(diagnostic.location.line, diagnostic.location.column);
  });
  return Failure{std::move(diagnostics)};
}

}  // namespace

Status parse_body(const Module& module, Function& function, const std::string& name, BodyParsing parsing) {
  if (function.body) return success();
  try {
    Result<Body> body = parse(module, function, name, parsing);
    if (!body) return std::move(body.error());
    function.body = std::move(*body);
    return success();
  } catch (const std::exception& exception) {
    // ANTLR reports internal errors as exceptions; none is known to be reachable.
    return failure_at({name, function.line, 1, 1},
                      "cannot parse '" + function.name + "': " + exception.what());
  }
}

Status parse_all_bodies(Module& module, const std::string& name) {
  for (Function& function : module.functions) {
    if (function.is_declaration()) continue;
    if (Status status = parse_body(module, function, name); !status) return status;
  }
  return success();
}

}  // namespace lynxpp::ptx
