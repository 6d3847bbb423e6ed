#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "DescriptionLexer.h"
#include "DescriptionParser.h"
#include "antlr4-runtime.h"
#include "models/cumapz/description.h"

namespace lynxpp::models::cumapz {
namespace {

using Parser = grammar::DescriptionParser;

constexpr std::size_t maximum_bytes = std::size_t{1} << 20;
constexpr std::size_t maximum_errors = 20;
constexpr int maximum_depth = 400;

Position position_of(antlr4::Token* token) {
  const bool has_text =
      token->getType() != antlr4::Token::EOF && token->getStopIndex() >= token->getStartIndex();
  const std::size_t length = has_text ? token->getStopIndex() - token->getStartIndex() + 1 : 1;
  return {static_cast<std::uint32_t>(token->getLine()),
          static_cast<std::uint32_t>(token->getCharPositionInLine() + 1), static_cast<std::uint32_t>(length)};
}

class Errors final : public antlr4::BaseErrorListener {
 public:
  explicit Errors(std::string file) : file_(std::move(file)) {}

  Diagnostics diagnostics;

  void add(const Position& at, std::string message, std::string hint = {}) {
    if (diagnostics.size() >= maximum_errors) return;
    diagnostics.push_back(
        {Severity::error, {file_, at.line, at.column, at.length}, std::move(message), std::move(hint)});
  }

  void syntaxError(antlr4::Recognizer* recognizer, antlr4::Token* offending, std::size_t line,
                   std::size_t column, const std::string& message, std::exception_ptr) override {
    if (offending == nullptr)
      return add({static_cast<std::uint32_t>(line), static_cast<std::uint32_t>(column + 1), 1}, message);
    const bool is_end = offending->getType() == antlr4::Token::EOF;
    std::string hint;
    if (auto* parser = dynamic_cast<antlr4::Parser*>(recognizer)) {
      const antlr4::misc::IntervalSet expected = parser->getExpectedTokens();
      if (expected.size() == 1) hint = "expected " + expected.toString(parser->getVocabulary());
    }
    add(position_of(offending),
        is_end ? "the text ends too early" : "unexpected '" + offending->getText() + "'", hint);
  }

 private:
  std::string file_;
};

struct TooDeep {
  Position position;
};

/// Bounds the recursion of the parser, and of walks over its tree.
class Depth final : public antlr4::tree::ParseTreeListener {
 public:
  explicit Depth(antlr4::Parser& parser) : parser_(parser) {}
  void visitTerminal(antlr4::tree::TerminalNode*) override {}
  void visitErrorNode(antlr4::tree::ErrorNode*) override {}
  void enterEveryRule(antlr4::ParserRuleContext*) override {
    if (++depth_ > maximum_depth) throw TooDeep{position_of(parser_.getCurrentToken())};
  }
  void exitEveryRule(antlr4::ParserRuleContext*) override { --depth_; }

 private:
  antlr4::Parser& parser_;
  int depth_ = 0;
};

Operation operation_of(const std::string& text) {
  static const std::map<std::string, Operation> operations{
      {"*", Operation::multiply},     {"/", Operation::divide},         {"%", Operation::remainder},
      {"+", Operation::add},          {"-", Operation::subtract},       {"<<", Operation::shift_left},
      {">>", Operation::shift_right}, {"<", Operation::less},           {">", Operation::greater},
      {"<=", Operation::less_equal},  {">=", Operation::greater_equal}, {"==", Operation::equal},
      {"!=", Operation::not_equal},   {"&", Operation::bit_and},        {"^", Operation::bit_xor},
      {"|", Operation::bit_or},       {"&&", Operation::logical_and},   {"||", Operation::logical_or}};
  return operations.at(text);
}

/// The parse tree ▶ a Description.
class Builder {
  /// Context of an expression: in `order`, the block and the grid are known, but no thread.
  enum class Use : std::uint8_t { constant, order, code };

 public:
  Builder(Errors& errors, const std::string& text) : errors_(errors), text_(text) {
    result_.slots = builtins;
  }

  Description build(Parser::DescriptionContext* context, const std::string& file) {
    result_.file = file;
    for (Parser::ItemContext* each : context->item()) item(each);
    if (result_.block[0].empty())
      errors_.add(position_of(context->getStop()), "the size of a block is missing", "write block (16, 16);");
    return std::move(result_);
  }

 private:
  // ---- declarations

  void item(Parser::ItemContext* context) {
    if (auto* constant = dynamic_cast<Parser::ConstantItemContext*>(context)) {
      add_constant(constant->Identifier()->getSymbol(), {expression(constant->expression(), Use::constant)},
                   false);
    } else if (auto* choice = dynamic_cast<Parser::ChoiceItemContext*>(context)) {
      std::vector<Expression> values;
      for (auto* value : choice->expression()) values.push_back(expression(value, Use::constant));
      add_constant(choice->Identifier()->getSymbol(), std::move(values), true);
    } else if (auto* grid = dynamic_cast<Parser::GridItemContext*>(context)) {
      add_extent(result_.grid, grid->expression(), grid->getStart());
    } else if (auto* block = dynamic_cast<Parser::BlockItemContext*>(context)) {
      add_extent(result_.block, block->expression(), block->getStart());
    } else if (auto* order = dynamic_cast<Parser::OrderItemContext*>(context)) {
      add_extent(result_.order, order->expression(), order->getStart(), Use::order);
    } else if (auto* registers = dynamic_cast<Parser::RegistersItemContext*>(context)) {
      if (!result_.registers.empty())
        errors_.add(position_of(registers->getStart()), "this is declared twice");
      result_.registers = expression(registers->expression(), Use::constant);
    } else if (auto* array = dynamic_cast<Parser::ArrayItemContext*>(context)) {
      if (is_new_array(array->Identifier()->getSymbol()))
        result_.arrays.push_back({array->Identifier()->getText(),
                                  expression(array->expression(), Use::constant),
                                  path_of(array->kind->getText())});
    } else if (auto* shared = dynamic_cast<Parser::SharedItemContext*>(context)) {
      if (is_new_array(shared->Identifier()->getSymbol()))
        result_.shared.push_back({shared->Identifier()->getText(),
                                  expression(shared->expression(0), Use::constant),
                                  expression(shared->expression(1), Use::constant)});
    } else if (auto* code = dynamic_cast<Parser::StatementItemContext*>(context)) {
      result_.statements.push_back(statement(code->statement()));
    }
  }

  void add_constant(antlr4::Token* name, std::vector<Expression> values, bool is_choice) {
    const std::string word = name->getText();
    if (slots_.contains(word)) return errors_.add(position_of(name), "'" + word + "' is already defined");
    slots_[word] = result_.slots;
    constants_.insert(word);
    result_.constants.push_back({word, result_.slots++, std::move(values), is_choice});
  }

  static Path path_of(const std::string& word) {
    if (word == "texture") return Path::texture;
    return word == "constant" ? Path::constant : Path::direct;
  }

  void add_extent(std::array<Expression, 3>& extent, const std::vector<Parser::ExpressionContext*>& values,
                  antlr4::Token* at, Use use = Use::constant) {
    if (!extent[0].empty()) errors_.add(position_of(at), "this is declared twice");
    if (values.size() > extent.size()) errors_.add(position_of(at), "at most three dimensions are allowed");
    for (std::size_t i = 0; i < std::min(values.size(), extent.size()); ++i)
      extent[i] = expression(values[i], use);
  }

  bool is_new_array(antlr4::Token* name) {
    const std::string word = name->getText();
    const bool is_new =
        std::ranges::none_of(result_.arrays, [&](const Array& a) { return a.name == word; }) &&
        std::ranges::none_of(result_.shared, [&](const SharedArray& a) { return a.name == word; });
    if (!is_new) errors_.add(position_of(name), "there is an array '" + word + "' already");
    return is_new;
  }

  // ---- statements

  Statement statement(Parser::StatementContext* context) {
    Statement result;
    result.position = position_of(context->getStart());
    if (auto* block = dynamic_cast<Parser::BlockContext*>(context)) {
      for (auto* each : block->statement()) result.statements.push_back(statement(each));
    } else if (auto* let = dynamic_cast<Parser::LetContext*>(context)) {
      result.kind = Statement::Kind::let;
      result.first = expression(let->expression(), Use::code);
      result.slot = variable(let->Identifier()->getSymbol());
    } else if (auto* fetch = dynamic_cast<Parser::FetchContext*>(context)) {
      result.kind = Statement::Kind::fetch;
      result.reference = result_.references++;
      result.elements = {element(fetch->element(0)), element(fetch->element(1))};
      if (!result.elements[0].is_shared || result.elements[1].is_shared)
        errors_.add(result.position, "a fetch goes from global to shared memory",
                    "write fetch tile[…] = in[…]; with a shared array on the left");
    } else if (auto* store = dynamic_cast<Parser::StoreContext*>(context)) {
      result.kind = Statement::Kind::store;
      result.reference = result_.references++;
      result.elements = {element(store->element(1)), element(store->element(0))};
      if (!result.elements[0].is_shared || result.elements[1].is_shared)
        errors_.add(result.position, "a store goes from shared to global memory",
                    "write store out[…] = tile[…]; with a shared array on the right");
      require_writable(result.elements[1], context->getStart());
    } else if (auto* access = dynamic_cast<Parser::AccessContext*>(context)) {
      result.kind = access->kind->getText() == "read" ? Statement::Kind::read : Statement::Kind::write;
      result.reference = result_.references++;
      result.elements = {element(access->element())};
      if (result.kind == Statement::Kind::write) require_writable(result.elements[0], context->getStart());
    } else if (auto* arithmetic = dynamic_cast<Parser::ArithmeticContext*>(context)) {
      result.kind = Statement::Kind::arithmetic;
      result.first = expression(arithmetic->expression(), Use::code);
    } else if (auto* choose = dynamic_cast<Parser::IfContext*>(context)) {
      result.kind = Statement::Kind::choose;
      result.first = expression(choose->expression(), Use::code);
      for (auto* each : choose->statement()) result.statements.push_back(statement(each));
    } else if (auto* loop = dynamic_cast<Parser::ForContext*>(context)) {
      add_loop(loop, result);
    }
    return result;
  }

  void require_writable(const Element& element, antlr4::Token* at) {
    if (element.is_shared || element.array >= result_.arrays.size()) return;
    const Array& array = result_.arrays[element.array];
    if (array.path != Path::direct)
      errors_.add(position_of(at), "textures and constants are only read",
                  "write array " + array.name + " of …;");
  }

  void add_loop(Parser::ForContext* context, Statement& result) {
    result.kind = Statement::Kind::loop;
    result.first = expression(context->expression(0), Use::code);
    result.slot = variable(context->Identifier(0)->getSymbol());
    result.condition = expression(context->expression(1), Use::code);
    result.step = expression(context->expression(2), Use::code);
    if (context->Identifier(1)->getText() != context->Identifier(0)->getText())
      errors_.add(position_of(context->Identifier(1)->getSymbol()),
                  "the loop counts '" + context->Identifier(0)->getText() + "'");
    result.statements.push_back(statement(context->statement()));
  }

  std::uint32_t variable(antlr4::Token* name) {
    const std::string word = name->getText();
    if (constants_.contains(word)) errors_.add(position_of(name), "'" + word + "' is a constant");
    const auto [place, is_new] = slots_.try_emplace(word, result_.slots);
    if (is_new) ++result_.slots;
    return place->second;
  }

  Element element(Parser::ElementContext* context) {
    Element result;
    const std::string word = context->Identifier()->getText();
    result.index = expression(context->expression(), Use::code);
    const std::size_t begin = context->getStart()->getStartIndex();
    result.text = text_.substr(begin, context->getStop()->getStopIndex() + 1 - begin);
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < result_.arrays.size(); ++i) {
      names.push_back(result_.arrays[i].name);
      if (names.back() == word) return result.array = i, result;
    }
    for (std::uint32_t i = 0; i < result_.shared.size(); ++i) {
      names.push_back(result_.shared[i].name);
      if (names.back() == word) return result.is_shared = true, result.array = i, result;
    }
    unknown(context->Identifier()->getSymbol(), "array", names,
            "declare arrays before their use: array " + word + " of 4;");
    return result;
  }

  void unknown(antlr4::Token* name, const std::string& what, const std::vector<std::string>& names,
               const std::string& otherwise) {
    const std::string close = closest_match(name->getText(), names);
    errors_.add(position_of(name), "there is no " + what + " '" + name->getText() + "'",
                close.empty() ? otherwise : "did you mean '" + close + "'?");
  }

  // ---- expressions

  Expression expression(Parser::ExpressionContext* context, Use use) {
    Expression result;
    result.position = position_of(context->getStart());
    add(result, context, use);
    return result;
  }

  /// Returns the index of the node that holds the context's value.
  std::uint32_t add(Expression& to, Parser::ExpressionContext* context, Use use) {
    // The tree of `1 + 1 + 1 …` is deep without nested rules of the parser.
    if (depth_ == maximum_depth) throw TooDeep{position_of(context->getStop())};
    ++depth_;
    const std::uint32_t node = add_node(to, context, use);
    --depth_;
    return node;
  }

  std::uint32_t add_node(Expression& to, Parser::ExpressionContext* context, Use use) {
    Expression::Node node;
    if (auto* parenthesis = dynamic_cast<Parser::ParenthesisContext*>(context))
      return add(to, parenthesis->expression(), use);
    if (auto* number = dynamic_cast<Parser::NumberContext*>(context)) {
      node.value = value_of(number->Integer()->getSymbol());
    } else if (auto* name = dynamic_cast<Parser::NameContext*>(context)) {
      node.operation = Operation::variable;
      node.slot = slot_of(name->Identifier()->getSymbol(), use);
    } else if (auto* member = dynamic_cast<Parser::MemberContext*>(context)) {
      node.operation = Operation::variable;
      node.slot = builtin(member, use);
    } else if (auto* unary = dynamic_cast<Parser::UnaryContext*>(context)) {
      const std::string op = unary->op->getText();
      node.operation = op == "-"   ? Operation::negate
                       : op == "!" ? Operation::logical_not
                                   : Operation::complement;
      node.operands[0] = add(to, unary->expression(), use);
    } else if (auto* binary = dynamic_cast<Parser::BinaryContext*>(context)) {
      node.operation = operation_of(binary->op->getText());
      node.operands[0] = add(to, binary->expression(0), use);
      node.operands[1] = add(to, binary->expression(1), use);
    } else if (auto* conditional = dynamic_cast<Parser::ConditionalContext*>(context)) {
      node.operation = Operation::conditional;
      for (std::size_t i = 0; i < 3; ++i) node.operands[i] = add(to, conditional->expression(i), use);
    }
    to.nodes.push_back(node);
    return static_cast<std::uint32_t>(to.nodes.size() - 1);
  }

  std::int64_t value_of(antlr4::Token* token) {
    const std::string text = token->getText();
    const bool is_hex = text.size() > 2 && (text[1] == 'x' || text[1] == 'X');
    std::int64_t value = 0;
    const char* begin = text.data() + (is_hex ? 2 : 0);
    const auto [end, problem] = std::from_chars(begin, text.data() + text.size(), value, is_hex ? 16 : 10);
    if (problem != std::errc()) errors_.add(position_of(token), "this number does not fit 64 bits");
    return value;
  }

  std::uint32_t slot_of(antlr4::Token* name, Use use) {
    const auto found = slots_.find(name->getText());
    const bool is_constant = constants_.contains(name->getText());
    if (found != slots_.end() && (is_constant || use == Use::code)) return found->second;
    if (found != slots_.end()) {
      errors_.add(position_of(name), "'" + name->getText() + "' differs between threads",
                  "only constants and choices are allowed here");
      return 0;
    }
    std::vector<std::string> names;
    for (const auto& [known, slot] : slots_) names.push_back(known);
    unknown(name, "name", names,
            "write const " + name->getText() + " = …; or let " + name->getText() + " = …;");
    return 0;
  }

  std::uint32_t builtin(Parser::MemberContext* context, Use use) {
    static const std::map<std::string, std::uint32_t> bases{{"threadIdx", thread_index},
                                                            {"blockIdx", block_index},
                                                            {"blockDim", block_size},
                                                            {"gridDim", grid_size}};
    const auto base = bases.find(context->Identifier(0)->getText());
    const std::string dimension = context->Identifier(1)->getText();
    const std::size_t index = dimension.size() == 1 ? std::string("xyz").find(dimension) : std::string::npos;
    if (base == bases.end()) {
      unknown(context->Identifier(0)->getSymbol(), "name", {"threadIdx", "blockIdx", "blockDim", "gridDim"},
              "");
      return 0;
    }
    if (index == std::string::npos)
      errors_.add(position_of(context->Identifier(1)->getSymbol()),
                  "there is no dimension '" + dimension + "'", "they are x, y and z");
    if (use == Use::constant)
      errors_.add(position_of(context->getStart()), "the launch is not known here",
                  "only constants and choices are allowed here");
    if (use == Use::order && base != bases.end() && base->second == thread_index)
      errors_.add(position_of(context->getStart()), "the order of thread blocks cannot depend on threads",
                  "only blockIdx, blockDim, gridDim, constants and choices are allowed here");
    return index == std::string::npos ? 0 : base->second + static_cast<std::uint32_t>(index);
  }

  Errors& errors_;
  const std::string& text_;
  Description result_;
  std::map<std::string, std::uint32_t> slots_;
  std::set<std::string> constants_;
  int depth_ = 0;  ///< depth of the expression node being added
};

/// Replaces bytes one by one, so that columns stay correct and every input is valid.
std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) >= 0x80 || c == '\0') c = '\x01';
  }
  return text;
}

}  // namespace

Result<Description> parse_description(const std::string& text, const std::string& file) {
  if (text.size() > maximum_bytes) return failure_at({file, 0, 0, 1}, "the description is larger than 1 MiB");
  Errors errors(file);
  try {
    antlr4::ANTLRInputStream input(printable(text));
    grammar::DescriptionLexer lexer(&input);
    lexer.removeErrorListeners();
    lexer.addErrorListener(&errors);
    antlr4::CommonTokenStream tokens(&lexer);
    Parser parser(&tokens);
    parser.removeErrorListeners();
    parser.addErrorListener(&errors);
    Depth depth(parser);
    parser.addParseListener(&depth);
    Parser::DescriptionContext* context = parser.description();
    if (errors.diagnostics.empty()) {
      Description description = Builder(errors, text).build(context, file);
      if (errors.diagnostics.empty()) return description;
    }
  } catch (const TooDeep& reached) {
    errors.add(reached.position, "the text is nested too deeply here");
  } catch (const std::exception& problem) {
    errors.diagnostics.push_back({Severity::error, {file, 0, 0, 1}, problem.what(), ""});
  }
  return Failure{std::move(errors.diagnostics)};
}

}  // namespace lynxpp::models::cumapz
