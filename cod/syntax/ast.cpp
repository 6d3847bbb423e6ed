#include "cod/syntax/ast.h"

#include <algorithm>
#include <map>

namespace lynxpp::cod {

Operator operator_of(std::string_view text) {
  static const std::map<std::string, Operator, std::less<>> operators{
      {"+", Operator::add},          {"-", Operator::subtract},       {"*", Operator::multiply},
      {"/", Operator::divide},       {"%", Operator::remainder},      {"<<", Operator::shift_left},
      {">>", Operator::shift_right}, {"<", Operator::less},           {">", Operator::greater},
      {"<=", Operator::less_equal},  {">=", Operator::greater_equal}, {"==", Operator::equal},
      {"!=", Operator::not_equal},   {"&", Operator::bit_and},        {"^", Operator::bit_xor},
      {"|", Operator::bit_or},       {"&&", Operator::logical_and},   {"||", Operator::logical_or},
      {"++", Operator::increment},   {"--", Operator::decrement}};
  const auto found = operators.find(text);
  return found == operators.end() ? Operator::none : found->second;
}

Operator unary_operator_of(std::string_view text) {
  if (text == "+") return Operator::plus;
  if (text == "-") return Operator::minus;
  if (text == "!") return Operator::logical_not;
  if (text == "~") return Operator::complement;
  if (text == "&") return Operator::address_of;
  if (text == "*") return Operator::dereference;
  return operator_of(text);
}

ExpressionPtr make_expression(ExpressionKind kind, const Position& position, Type type) {
  auto result = std::make_unique<Expression>();
  result->kind = kind;
  result->position = position;
  result->type = type;
  return result;
}

ExpressionPtr clone(const Expression& expression) {
  auto result = std::make_unique<Expression>();
  static_cast<ExpressionNode&>(*result) = expression;
  for (const ExpressionPtr& operand : expression.operands) result->operands.push_back(clone(*operand));
  for (const ExpressionPtr& each : expression.setup) result->setup.push_back(clone(*each));
  return result;
}

Exits exits_of(const Statement& statement) {
  using enum StatementKind;
  const StatementKind kind = statement.kind;
  Exits exits{kind == return_value, kind == break_loop, kind == continue_loop};
  for (const StatementPtr& child : statement.children) {
    const Exits inner = exits_of(*child);
    exits.returns |= inner.returns;
    exits.breaks |= inner.breaks;
    exits.continues |= inner.continues;
  }
  const bool is_loop = kind == while_loop || kind == do_loop || kind == for_loop;
  if (is_loop) exits.continues = false;
  if (is_loop || kind == switch_case) exits.breaks = false;
  return exits;
}

SourceLocation location_of(const std::vector<SourceFile>& files, const Position& position) {
  return {files[position.file].path, position.line, position.column, position.length};
}

void quote_included_lines(const std::vector<SourceFile>& files, Diagnostics& diagnostics) {
  for (Diagnostic& diagnostic : diagnostics) {
    SourceLocation& place = diagnostic.location;
    const auto file = std::find_if(files.begin(), files.end(),
                                   [&](const SourceFile& each) { return each.path == place.file; });
    if (file == files.begin() || file == files.end() || place.line == 0) continue;
    // Rendered here, where the text is available, without the hint, which must come last.
    Diagnostic bare = diagnostic;
    bare.hint.clear();
    std::string text = render(bare, file->text);
    text.pop_back();
    const std::size_t line_end = text.find('\n');
    diagnostic.message += line_end == std::string::npos ? "" : text.substr(line_end);
    place.file += ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
    place.line = 0;
  }
}

ExpressionPtr make_integer(std::uint64_t value, Type type, const Position& position) {
  ExpressionPtr result = make_expression(ExpressionKind::integer, position, type);
  result->value = value;
  return result;
}

}  // namespace lynxpp::cod
