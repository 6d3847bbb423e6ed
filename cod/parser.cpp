#include "cod/parser.h"

#include <charconv>
#include <functional>
#include <map>

#include "CodLexer.h"
#include "CodParser.h"
#include "antlr4-runtime.h"
#include "cod/syntax_errors.h"

namespace lynxpp::cod {
namespace {

using grammar::CodParser;

bool is_integer_suffix(std::string suffix) {
  const auto is_u = [](char c) { return c == 'u' || c == 'U'; };
  if (!suffix.empty() && is_u(suffix.front())) {
    suffix.erase(0, 1);
  } else if (!suffix.empty() && is_u(suffix.back())) {
    suffix.pop_back();
  }
  return suffix.empty() || suffix == "l" || suffix == "L" || suffix == "ll" || suffix == "LL";
}

/// Thrown by DepthLimit, caught in parse(): the only way out of ANTLR's recursive descent.
struct TooDeep {
  antlr4::Token* token;
};

/// Of rules: a level of nesting is a statement, or an expression and its primary.
constexpr int maximum_depth = 3 * nesting_limit;

class DepthLimit final : public antlr4::tree::ParseTreeListener {
 public:
  explicit DepthLimit(antlr4::Parser& parser) : parser_(parser) {}
  void visitTerminal(antlr4::tree::TerminalNode*) override {}
  void visitErrorNode(antlr4::tree::ErrorNode*) override {}
  void enterEveryRule(antlr4::ParserRuleContext*) override {
    if (++depth_ > maximum_depth) throw TooDeep{parser_.getCurrentToken()};
  }
  void exitEveryRule(antlr4::ParserRuleContext*) override { --depth_; }

 private:
  antlr4::Parser& parser_;
  int depth_ = 0;
};

Operator operator_of(const std::string& text) {
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

Operator unary_operator_of(const std::string& text) {
  if (text == "+") return Operator::plus;
  if (text == "-") return Operator::minus;
  if (text == "!") return Operator::logical_not;
  if (text == "~") return Operator::complement;
  if (text == "&") return Operator::address_of;
  return operator_of(text);
}

char escaped(char c) {
  switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case '0': return '\0';
    default: return c;
  }
}

/// Parse tree ▶ syntax tree. Recursion is bounded by DepthLimit and expression().
class Builder {
 public:
  Builder(const std::string& source, SyntaxErrors& errors) : source_(source), errors_(errors) {}

  SyntaxTree specification(CodParser::SpecificationContext* context) {
    SyntaxTree tree;
    for (CodParser::ItemContext* each : context->item()) tree.items.push_back(item(each));
    return tree;
  }

 private:
  std::string text_of(antlr4::Token* token) const {
    // From the source, not from ANTLR: there bytes beyond ASCII have been replaced.
    return source_.substr(token->getStartIndex(), token->getStopIndex() - token->getStartIndex() + 1);
  }
  Position position_of(antlr4::Token* token) const {
    const SourceLocation place = errors_.location_of(token);
    return {place.line, place.column, place.length};
  }
  /// Underlines the whole construct when it stands on one line.
  Position position_of(antlr4::ParserRuleContext* context) const {
    Position position = position_of(context->getStart());
    antlr4::Token* stop = context->getStop();
    if (stop != nullptr && stop->getLine() == position.line &&
        stop->getStopIndex() >= context->getStart()->getStartIndex()) {
      position.length =
          static_cast<std::uint32_t>(stop->getStopIndex() - context->getStart()->getStartIndex() + 1);
    }
    return position;
  }

  Item item(CodParser::ItemContext* context) {
    if (auto* global = context->globalDeclaration()) return global_array(global);
    if (auto* definition = context->functionDefinition()) return function(definition);
    Item result;
    if (auto* handler = context->targetHandler()) {
      result.kind = Item::Kind::handler;
      for (auto* label : handler->label()) {
        result.labels.push_back(
            {text_of(label->Identifier()->getSymbol()), position_of(label->Identifier()->getSymbol())});
      }
      result.position = result.labels.front().position;
      result.body = statement(handler->statement());
    } else {
      result.position = position_of(context->statement()->getStart());
      result.body = statement(context->statement());
    }
    return result;
  }

  Item global_array(CodParser::GlobalDeclarationContext* context) {
    Item result;
    result.kind = Item::Kind::global_array;
    result.name = text_of(context->Identifier()->getSymbol());
    result.position = position_of(context->Identifier()->getSymbol());
    bool is_const = false;
    result.type = type(context->typeName(), is_const);
    if (is_const)
      errors_.add(context->typeName()->getStart(), "a 'global' array cannot be const", "leave out 'const'");
    for (auto* extent : context->expression()) result.extents.push_back(expression(extent));
    return result;
  }

  Item function(CodParser::FunctionDefinitionContext* context) {
    Item result;
    result.kind = Item::Kind::function;
    result.name = text_of(context->Identifier()->getSymbol());
    result.position = position_of(context->Identifier()->getSymbol());
    bool is_const = false;
    result.type = type(context->typeName(), is_const);
    if (context->parameters() != nullptr) {
      for (auto* parameter : context->parameters()->parameter()) {
        const Type parameter_type = type(parameter->typeName(), is_const);
        antlr4::Token* name = parameter->Identifier()->getSymbol();
        result.parameters.push_back({parameter_type, text_of(name), position_of(name)});
      }
    }
    result.body = block(context->block());
    return result;
  }

  Type type(CodParser::TypeNameContext* context, bool& is_const) {
    std::map<std::string, int> words;
    Type fixed = Type::none;
    int count = 0;
    for (auto* word : context->typeWord()) {
      const std::string text = text_of(word->getStart());
      if (text == "const") {
        is_const = true;
      } else if (text != "volatile") {
        ++words[text];
        ++count;
        if (word->FixedType() != nullptr) fixed = fixed_type(text);
      }
    }
    const Type result = fixed != Type::none ? (count == 1 ? fixed : Type::none) : type_of_words(words, count);
    if (result == Type::none) {
      errors_.add(context->getStart(), "this is no type",
                  "write for example 'unsigned long', 'int' or 'double'");
    }
    return result;
  }

  static Type fixed_type(const std::string& text) {
    static const std::map<std::string, Type, std::less<>> types{
        {"int8_t", Type::i8},   {"uint8_t", Type::u8},    {"int16_t", Type::i16},   {"uint16_t", Type::u16},
        {"int32_t", Type::i32}, {"uint32_t", Type::u32},  {"int64_t", Type::i64},   {"uint64_t", Type::u64},
        {"size_t", Type::u64},  {"ptrdiff_t", Type::i64}, {"uintptr_t", Type::u64}, {"intptr_t", Type::i64}};
    const auto found = types.find(text);
    return found == types.end() ? Type::none : found->second;
  }

  static Type type_of_words(std::map<std::string, int>& words, int count) {
    const int is_unsigned = words["unsigned"];
    const int is_signed = words["signed"];
    if (is_unsigned + is_signed > 1) return Type::none;
    const auto rest = count - is_unsigned - is_signed;
    const auto sign = [&](Type without, Type with) { return is_unsigned != 0 ? with : without; };
    if (rest == 0) return count == 0 ? Type::none : sign(Type::i32, Type::u32);
    if (words["char"] == 1 && rest == 1) return sign(Type::i8, Type::u8);
    if (words["short"] == 1 && rest == 1 + words["int"]) return sign(Type::i16, Type::u16);
    if (words["long"] >= 1 && words["long"] <= 2 && rest == words["long"] + words["int"])
      return sign(Type::i64, Type::u64);
    if (words["int"] == 1 && rest == 1) return sign(Type::i32, Type::u32);
    if (count != 1) return Type::none;
    if (words["float"] == 1) return Type::f32;
    if (words["double"] == 1) return Type::f64;
    if (words["void"] == 1) return Type::nothing;
    return words["bool"] + words["_Bool"] == 1 ? Type::boolean : Type::none;
  }

  // -------------------------------------------------------------- statements

  StatementPtr make(StatementKind kind, antlr4::ParserRuleContext* context) const {
    auto result = std::make_unique<Statement>();
    result->kind = kind;
    result->position = position_of(context->getStart());
    return result;
  }

  StatementPtr block(CodParser::BlockContext* context) {
    StatementPtr result = make(StatementKind::block, context);
    for (auto* each : context->statement()) result->children.push_back(statement(each));
    return result;
  }

  StatementPtr declaration(CodParser::DeclarationContext* context) {
    StatementPtr result = make(StatementKind::declaration, context);
    result->type = type(context->typeName(), result->is_const);
    for (auto* each : context->declarator()) {
      Declarator declarator;
      declarator.name = text_of(each->Identifier()->getSymbol());
      declarator.position = position_of(each->Identifier()->getSymbol());
      if (each->expression() != nullptr) declarator.initializer = expression(each->expression());
      result->declarators.push_back(std::move(declarator));
    }
    return result;
  }

  StatementPtr statement(CodParser::StatementContext* context) {
    if (auto* each = dynamic_cast<CodParser::BlockStatementContext*>(context)) return block(each->block());
    if (auto* each = dynamic_cast<CodParser::DeclarationStatementContext*>(context))
      return declaration(each->declaration());
    if (auto* each = dynamic_cast<CodParser::ExpressionStatementContext*>(context)) {
      if (each->expression() == nullptr) return make(StatementKind::empty, context);
      StatementPtr result = make(StatementKind::expression, context);
      result->expression = expression(each->expression());
      return result;
    }
    if (auto* each = dynamic_cast<CodParser::IfStatementContext*>(context)) {
      StatementPtr result = make(StatementKind::if_else, context);
      result->condition = expression(each->expression());
      for (auto* child : each->statement()) result->children.push_back(statement(child));
      return result;
    }
    if (auto* each = dynamic_cast<CodParser::WhileStatementContext*>(context)) {
      return loop(StatementKind::while_loop, context, each->expression(), each->statement());
    }
    if (auto* each = dynamic_cast<CodParser::DoStatementContext*>(context)) {
      return loop(StatementKind::do_loop, context, each->expression(), each->statement());
    }
    if (auto* each = dynamic_cast<CodParser::ForStatementContext*>(context)) return for_loop(each);
    if (dynamic_cast<CodParser::BreakStatementContext*>(context) != nullptr)
      return make(StatementKind::break_loop, context);
    if (dynamic_cast<CodParser::ContinueStatementContext*>(context) != nullptr) {
      return make(StatementKind::continue_loop, context);
    }
    StatementPtr result = make(StatementKind::return_value, context);
    if (auto* each = dynamic_cast<CodParser::ReturnStatementContext*>(context);
        each != nullptr && each->expression() != nullptr) {
      result->expression = expression(each->expression());
    }
    return result;
  }

  StatementPtr loop(StatementKind kind, antlr4::ParserRuleContext* context,
                    CodParser::ExpressionContext* condition, CodParser::StatementContext* body) {
    StatementPtr result = make(kind, context);
    result->condition = expression(condition);
    result->children.push_back(statement(body));
    return result;
  }

  StatementPtr for_loop(CodParser::ForStatementContext* context) {
    StatementPtr result = make(StatementKind::for_loop, context);
    if (context->test != nullptr) result->condition = expression(context->test);
    if (context->step != nullptr) result->expression = expression(context->step);
    result->children.push_back(statement(context->statement()));
    if (context->declaration() != nullptr) {
      result->children.push_back(declaration(context->declaration()));
    } else if (context->start != nullptr) {
      StatementPtr start = make(StatementKind::expression, context->start);
      start->expression = expression(context->start);
      result->children.push_back(std::move(start));
    }
    return result;
  }

  // -------------------------------------------------------------- expressions

  ExpressionPtr make(ExpressionKind kind, antlr4::ParserRuleContext* context) const {
    auto result = std::make_unique<Expression>();
    result->kind = kind;
    result->position = position_of(context);
    return result;
  }

  ExpressionPtr operation(ExpressionKind kind, Operator op, antlr4::ParserRuleContext* context,
                          std::initializer_list<CodParser::ExpressionContext*> operands) {
    ExpressionPtr result = make(kind, context);
    result->op = op;
    for (auto* operand : operands) result->operands.push_back(expression(operand));
    return result;
  }

  /// DepthLimit does not see chains such as `a + b + c + …`, which ANTLR parses without recursion; the tree
  /// is as deep all the same.
  ExpressionPtr expression(CodParser::ExpressionContext* context) {
    if (++depth_ > maximum_depth) throw TooDeep{context->getStart()};
    ExpressionPtr result = any_expression(context);
    --depth_;
    return result;
  }

  ExpressionPtr any_expression(CodParser::ExpressionContext* context) {
    if (auto* each = dynamic_cast<CodParser::PrimaryExpressionContext*>(context))
      return primary(each->primary());
    if (auto* each = dynamic_cast<CodParser::CallExpressionContext*>(context)) {
      ExpressionPtr result = make(ExpressionKind::call, context);
      result->text = text_of(each->Identifier()->getSymbol());
      for (auto* argument : each->expression()) result->operands.push_back(expression(argument));
      return result;
    }
    if (auto* each = dynamic_cast<CodParser::IndexExpressionContext*>(context)) {
      return operation(ExpressionKind::index, Operator::none, context,
                       {each->expression(0), each->expression(1)});
    }
    if (auto* each = dynamic_cast<CodParser::PostfixExpressionContext*>(context)) {
      return operation(ExpressionKind::postfix, operator_of(each->op->getText()), context,
                       {each->expression()});
    }
    if (auto* each = dynamic_cast<CodParser::UnaryExpressionContext*>(context)) {
      return operation(ExpressionKind::unary, unary_operator_of(each->op->getText()), context,
                       {each->expression()});
    }
    if (auto* each = dynamic_cast<CodParser::BinaryExpressionContext*>(context)) {
      return operation(ExpressionKind::binary, operator_of(each->op->getText()), context,
                       {each->expression(0), each->expression(1)});
    }
    return rare_expression(context);
  }

  ExpressionPtr rare_expression(CodParser::ExpressionContext* context) {
    bool is_const = false;
    if (auto* each = dynamic_cast<CodParser::CastExpressionContext*>(context)) {
      ExpressionPtr result = operation(ExpressionKind::cast, Operator::none, context, {each->expression()});
      result->type = type(each->typeName(), is_const);
      return result;
    }
    if (auto* each = dynamic_cast<CodParser::SizeofExpressionContext*>(context)) {
      ExpressionPtr result = make(ExpressionKind::size, context);
      const Type measured = type(each->typeName(), is_const);
      if (measured == Type::nothing) errors_.add(each->typeName()->getStart(), "void has no size");
      result->type = Type::u64;
      result->value = bytes_of(measured);
      return result;
    }
    if (auto* each = dynamic_cast<CodParser::ConditionalExpressionContext*>(context)) {
      return operation(ExpressionKind::conditional, Operator::none, context,
                       {each->expression(0), each->expression(1), each->expression(2)});
    }
    auto* each = dynamic_cast<CodParser::AssignExpressionContext*>(context);
    if (each == nullptr)
      return make(ExpressionKind::integer, context);  // only behind a reported syntax error
    const std::string op = each->op->getText();
    return operation(ExpressionKind::assign,
                     op == "=" ? Operator::none : operator_of(op.substr(0, op.size() - 1)), context,
                     {each->expression(0), each->expression(1)});
  }

  ExpressionPtr primary(CodParser::PrimaryContext* context) {
    if (auto* each = dynamic_cast<CodParser::ParenthesisPrimaryContext*>(context))
      return expression(each->expression());
    if (auto* each = dynamic_cast<CodParser::StringPrimaryContext*>(context)) {
      ExpressionPtr result = make(ExpressionKind::string, context);
      for (auto* piece : each->String()) result->text += unquoted(text_of(piece->getSymbol()));
      return result;
    }
    antlr4::Token* token = context->getStart();
    if (dynamic_cast<CodParser::NamePrimaryContext*>(context) != nullptr) {
      ExpressionPtr result = make(ExpressionKind::name, context);
      result->text = text_of(token);
      return result;
    }
    if (dynamic_cast<CodParser::FloatingPrimaryContext*>(context) != nullptr) return floating(context, token);
    ExpressionPtr result = make(ExpressionKind::integer, context);
    if (dynamic_cast<CodParser::CharacterPrimaryContext*>(context) != nullptr) {
      const std::string text = unquoted(text_of(token));
      result->value =
          static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<signed char>(text[0])));
      result->type = Type::i32;
    } else if (dynamic_cast<CodParser::IntegerPrimaryContext*>(context) != nullptr) {
      integer(*result, token);
    } else {
      result->value = dynamic_cast<CodParser::TruePrimaryContext*>(context) != nullptr ? 1 : 0;
      result->type = Type::boolean;
    }
    return result;
  }

  static std::string unquoted(const std::string& token) {
    std::string text;
    for (std::size_t i = 1; i + 1 < token.size(); ++i) {
      text += token[i] == '\\' && i + 2 < token.size() ? escaped(token[++i]) : token[i];
    }
    return text;
  }

  ExpressionPtr floating(CodParser::PrimaryContext* context, antlr4::Token* token) {
    ExpressionPtr result = make(ExpressionKind::floating, context);
    const std::string text = text_of(token);
    const bool is_float = text.back() == 'f' || text.back() == 'F';
    result->type = is_float ? Type::f32 : Type::f64;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result->real);
    if (error != std::errc()) errors_.add(token, "this number does not fit a double");
    if (is_float) result->real = static_cast<float>(result->real);
    return result;
  }

  /// Value, and the first type of C's list that holds it.
  void integer(Expression& result, antlr4::Token* token) {
    std::string text = text_of(token);
    const std::size_t suffix = text.find_first_of("uUlL");
    const std::string_view digits = std::string_view(text).substr(0, suffix);
    const std::string tail = suffix == std::string::npos ? "" : text.substr(suffix);
    int base = 10;
    std::size_t skip = 0;
    if (digits.size() > 1 && digits[0] == '0') {
      base = digits[1] == 'x' || digits[1] == 'X' ? 16 : digits[1] == 'b' || digits[1] == 'B' ? 2 : 8;
      skip = base == 8 ? 1 : 2;
    }
    const char* last = digits.data() + digits.size();
    const auto [end, error] = std::from_chars(digits.data() + skip, last, result.value, base);
    if (error == std::errc::result_out_of_range)
      errors_.add(token, "this number does not fit 64 bits");
    else if (error != std::errc() || end != last)
      errors_.add(token, "this is no number of base " + std::to_string(base));
    const bool is_unsigned = tail.find_first_of("uU") != std::string::npos;
    const bool is_long = tail.find_first_of("lL") != std::string::npos;
    if (!is_integer_suffix(tail))
      errors_.add(token, "'" + tail + "' is no suffix of an integer", "use u, l, ul, ll or ull");
    const bool either = base != 10;
    if (!is_long && !is_unsigned && result.value <= 0x7fffffffu)
      result.type = Type::i32;
    else if (!is_long && (is_unsigned || either) && result.value <= 0xffffffffu)
      result.type = Type::u32;
    else if (!is_unsigned && result.value <= 0x7fffffffffffffffu)
      result.type = Type::i64;
    else
      result.type = Type::u64;
  }

  const std::string& source_;
  SyntaxErrors& errors_;
  int depth_ = 0;
};

/// ANTLR wants UTF-8 and counts code points; a byte for a byte keeps columns right and any input valid.
std::string printable(const std::string& source) {
  std::string text = source;
  for (char& c : text) {
    if (static_cast<unsigned char>(c) >= 0x80 || c == '\0') c = '\x01';
  }
  return text;
}

}  // namespace

Result<SyntaxTree> parse(const std::string& source, const std::string& file) {
  constexpr std::size_t maximum_bytes = std::size_t{1} << 20;
  if (source.size() > maximum_bytes) {
    return failure_at({file, 0, 0, 1}, "the specification is larger than 1 MiB", "is this a .cod file?");
  }
  SyntaxErrors errors(file);
  antlr4::ANTLRInputStream input(printable(source));
  grammar::CodLexer lexer(&input);
  lexer.removeErrorListeners();
  lexer.addErrorListener(&errors);
  antlr4::CommonTokenStream tokens(&lexer);
  CodParser parser(&tokens);
  parser.removeErrorListeners();
  parser.addErrorListener(&errors);
  DepthLimit limit(parser);
  parser.addParseListener(&limit);
  try {
    CodParser::SpecificationContext* context = parser.specification();
    if (!errors.diagnostics.empty()) return Failure{std::move(errors.diagnostics)};
    SyntaxTree tree = Builder(source, errors).specification(context);
    if (!errors.diagnostics.empty()) return Failure{std::move(errors.diagnostics)};
    return tree;
  } catch (const TooDeep& reached) {
    errors.add(reached.token, "the code is nested too deeply here",
               "split it into statements or helper functions");
  } catch (const std::exception& error) {
    errors.diagnostics.push_back({Severity::error, {file, 0, 0, 1}, error.what(), ""});
  }
  return Failure{std::move(errors.diagnostics)};
}

}  // namespace lynxpp::cod
