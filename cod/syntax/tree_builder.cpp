#include "cod/syntax/tree_builder.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <tuple>

#include "cod/syntax/literals.h"
#include "cod/syntax/type_reader.h"
#include "support/diagnostic.h"

namespace lynxpp::cod {
namespace {

using grammar::CodParser;

/// Recursion is bounded by DepthLimit (parser.cpp) and expression().
class TreeBuilder {
 public:
  TreeBuilder(SyntaxTree& tree, SyntaxErrors& errors)
      : tree_(tree),
        errors_(errors),
        types_(errors, [this](CodParser::ExpressionContext* context) { return expression(context); }) {}

  void add(const ParsedFile& file) {
    const std::uint32_t outer = errors_.file();
    errors_.set_file(file.index);
    for (CodParser::ItemContext* each : file.context->item()) {
      if (each->inclusion() != nullptr) {
        const auto found = file.included.find(each->inclusion()->String()->getSymbol());
        if (found != file.included.end() && found->second->context != nullptr) add(*found->second);
        continue;
      }
      std::vector<Item> next = items(each);
      for (StatementPtr& constant : types_.enumerators) {
        Item declaration;
        declaration.position = constant->position;
        declaration.body = std::move(constant);
        tree_.items.push_back(std::move(declaration));
      }
      types_.enumerators.clear();
      std::ranges::move(next, std::back_inserter(tree_.items));
    }
    errors_.set_file(outer);
  }

  void finish() { tree_.structures = std::move(types_.structures); }

 private:
  std::string text_of(antlr4::Token* token) const {
    // Read from the source, because ANTLR's text has non-ASCII bytes replaced.
    return tree_.files[errors_.file()].text.substr(token->getStartIndex(),
                                                   token->getStopIndex() - token->getStartIndex() + 1);
  }
  Position position_of(antlr4::Token* token) const { return errors_.position_of(token); }
  /// Covers the whole construct if it is on one line.
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

  /// `host` is not a reserved word, so it is checked here.
  Item host_variables(CodParser::HostDeclarationContext* context) {
    Item result;
    const std::string word = text_of(context->word);
    if (word != "host") {
      const std::string match = closest_match(
          word, {"global", "shared", "host", "const", "static", "unsigned", "signed", "typedef"});
      errors_.add(context->word, "unknown word '" + word + "' before a type",
                  match.empty() ? "write 'global', 'shared' or 'host'" : "did you mean '" + match + "'?");
    }
    result.is_host = true;
    result.position = position_of(context->word);
    result.body = declaration(context->declaration());
    return result;
  }

  /// `global unsigned long a, b[4];`: one item per name.
  std::vector<Item> items(CodParser::ItemContext* context) {
    std::vector<Item> result;
    auto* global = context->globalDeclaration();
    if (global == nullptr) {
      result.push_back(item(context));
      return result;
    }
    for (auto* declarator : global->globalDeclarator())
      result.push_back(global_array(global, declarator, result.empty() ? nullptr : &result.front()));
    return result;
  }

  Item item(CodParser::ItemContext* context) {
    if (auto* definition = context->functionDefinition()) return function(definition);
    if (auto* host = context->hostDeclaration()) return host_variables(host);
    Item result;
    if (auto* handler = context->targetHandler()) {
      result.kind = Item::Kind::handler;
      for (auto* label : handler->label()) {
        Label& added = result.labels.emplace_back();
        added.name = text_of(label->Identifier()->getSymbol());
        added.position = position_of(label->Identifier()->getSymbol());
        added.has_arguments = label->children.size() > 2;
        for (auto* argument : label->expression()) added.arguments.push_back(expression(argument));
      }
      result.position = result.labels.front().position;
      result.body = statement(handler->statement());
    } else {
      result.position = position_of(context->statement()->getStart());
      result.body = statement(context->statement());
    }
    return result;
  }

  Item global_array(CodParser::GlobalDeclarationContext* context,
                    CodParser::GlobalDeclaratorContext* declarator, const Item* first) {
    Item result;
    const std::string space = context->space->getText();
    result.kind = space == "shared" ? Item::Kind::shared_array : Item::Kind::global_array;
    result.name = text_of(declarator->Identifier()->getSymbol());
    result.position = position_of(declarator->Identifier()->getSymbol());
    if (first != nullptr) {  // types are read once, because they may define a structure
      result.type = first->type;
      result.structure = first->structure;
    } else if (context->element != nullptr) {
      TypeSpecification type = types_.read(context->element);
      result.type = type.type;
      result.structure = std::move(type.structure);
      if (type.is_const) {
        errors_.add(context->element->getStart(), "a '" + space + "' array cannot be const",
                    "remove 'const', or remove '" + space + "' to declare a table");
      }
    }
    result.extents = extents(declarator);
    result.storage = storage(context, result.position, first);
    if (declarator->initializer() != nullptr) read_initial(declarator->initializer(), result);
    return result;
  }

  /// `= linear(0, 100)` selects the bins of a histogram; otherwise it is the initialiser.
  void read_initial(CodParser::InitializerContext* context, Item& item) {
    Initializer initial = initializer(context);
    Expression* const call = initial.expression.get();
    StorageClause& clause = item.storage;
    const bool makes_bins = call != nullptr && call->kind == ExpressionKind::call &&
                            (clause.kind == "histogram" || call->text == "linear" || call->text == "log2");
    if (!makes_bins) {
      item.initial = std::move(initial);
      item.has_initial = true;
      return;
    }
    clause.binning = call->text;
    clause.binning_position = call->position;
    clause.binning_position.length = static_cast<std::uint32_t>(call->text.size());
    clause.bounds = std::move(call->operands);
  }

  /// The expressions in the brackets of a declaration; null for `[]`.
  std::vector<ExpressionPtr> extents(antlr4::ParserRuleContext* context) {
    std::vector<ExpressionPtr> result;
    bool is_open = false;
    for (auto* child : context->children) {
      // Compares single tokens only, because the text of an expression may be deeply nested.
      auto* word = dynamic_cast<antlr4::tree::TerminalNode*>(child);
      const std::string text = word != nullptr ? word->getSymbol()->getText() : std::string();
      if (auto* extent = dynamic_cast<CodParser::ExpressionContext*>(child)) {
        result.push_back(expression(extent));
        is_open = false;
      } else if (text == "[") {
        is_open = true;
      } else if (text == "]" && is_open) {
        result.push_back(nullptr);
        is_open = false;
      }
    }
    return result;
  }

  /// trace, histogram and map are not reserved words, so they are checked here.
  StorageClause storage(CodParser::GlobalDeclarationContext* context, const Position& name,
                        const Item* first) {
    StorageClause result;
    result.has_type = context->element != nullptr;
    result.position = name;
    if (context->storage != nullptr) {
      result.kind = text_of(context->storage);
      result.position = position_of(context->storage);
    }
    if (first != nullptr) {
      result.has_key = first->storage.has_key;
      result.key = first->storage.key;
      result.key_structure = first->storage.key_structure;
    } else if (context->by != nullptr) {
      if (text_of(context->by) != "by")
        errors_.add(context->by, "unexpected '" + text_of(context->by) + "'",
                    closest_match(text_of(context->by), {"by"}).empty() ? "expected ';', '[', '=' or 'by'"
                                                                        : "did you mean 'by'?");
      const TypeSpecification key = types_.read(context->key);
      result.has_key = true;
      result.key = key.type;
      result.key_structure = key.structure;
    }
    return result;
  }

  Item function(CodParser::FunctionDefinitionContext* context) {
    Item result;
    result.kind = Item::Kind::function;
    result.name = text_of(context->Identifier()->getSymbol());
    result.position = position_of(context->Identifier()->getSymbol());
    result.result = types_.read_full(context->typeName(), context->pointer());
    if (context->parameters() != nullptr) {
      for (auto* each : context->parameters()->parameter()) result.parameters.push_back(parameter(each));
    }
    result.body = block(context->block());
    return result;
  }

  Parameter parameter(CodParser::ParameterContext* context) {
    Parameter result;
    antlr4::Token* name = context->Identifier()->getSymbol();
    const TypeSpecification type = types_.read(context->typeName());
    result.name = text_of(name);
    result.position = position_of(name);
    const std::size_t brackets = count_brackets(*context);
    if (brackets > 1 || (brackets == 1 && context->pointer() != nullptr)) {
      errors_.add(name, "a parameter cannot be an array of arrays or of pointers",
                  "pass a pointer to the first element");
    }
    result.type = brackets > 0 ? pointer_to(type) : types_.with_stars(type, context->pointer());
    result.is_const = context->pointer() != nullptr ? context->pointer()->getText().ends_with("const")
                                                    : brackets == 0 && type.is_const;
    return result;
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
    for (auto* each : context->statement()) {
      StatementPtr child = statement(each);
      for (StatementPtr& constant : types_.enumerators) result->children.push_back(std::move(constant));
      types_.enumerators.clear();
      result->children.push_back(std::move(child));
    }
    return result;
  }

  StatementPtr declaration(CodParser::DeclarationContext* context) {
    TypeSpecification type = types_.read(context->typeName());
    if (context->declarator().empty()) {
      const std::string first = context->getStart()->getText();
      const bool defines = context->getStop()->getText() == "}" && (first == "struct" || first == "enum");
      if (!defines)
        errors_.add(context->getStart(), "this declaration declares nothing", "write a name after the type");
      return make(StatementKind::empty, context);
    }
    StatementPtr result = make(StatementKind::declaration, context);
    result->type = type.type;
    result->structure = std::move(type.structure);
    result->is_const = type.is_const;
    for (auto* each : context->declarator()) result->declarators.push_back(declarator(each));
    return result;
  }

  Declarator declarator(CodParser::DeclaratorContext* context) {
    Declarator result;
    result.name = text_of(context->Identifier()->getSymbol());
    result.position = position_of(context->Identifier()->getSymbol());
    if (context->pointer() != nullptr) {
      types_.check_stars(context->pointer());
      result.is_pointer = true;
      result.is_const_pointer = context->pointer()->getText().ends_with("const");
    }
    result.dimensions = extents(context);
    if (context->initializer() != nullptr) {
      Initializer initial = initializer(context->initializer());
      result.has_list = initial.expression == nullptr;
      result.initializer = std::move(initial.expression);
      result.list = std::move(initial.list);
    }
    return result;
  }

  Initializer initializer(CodParser::InitializerContext* context) {
    Initializer result;
    result.position = position_of(context);
    if (context->expression() != nullptr) {
      result.expression = expression(context->expression());
      return result;
    }
    if (++depth_ > maximum_rule_depth) throw TooDeep{position_of(context->getStart())};
    for (auto* each : context->initializer()) result.list.push_back(initializer(each));
    --depth_;
    return result;
  }

  StatementPtr statement(CodParser::StatementContext* context) {
    if (auto* each = dynamic_cast<CodParser::BlockStatementContext*>(context)) return block(each->block());
    if (auto* each = dynamic_cast<CodParser::DeclarationStatementContext*>(context)) {
      StatementPtr result = declaration(each->declaration());
      const bool is_inside = dynamic_cast<CodParser::ItemContext*>(each->parent) == nullptr;
      if (is_inside && each->getStart()->getText() == "static") {
        errors_.add(each->getStart(), "'static' is not allowed inside a block",
                    "declare the variable at file scope, where each thread keeps its value");
      }
      return result;
    }
    if (auto* each = dynamic_cast<CodParser::TypedefStatementContext*>(context)) {
      if (each->pointer() != nullptr) {
        errors_.add(each->pointer()->getStart(), "a typedef cannot name a pointer type",
                    "write '*' in the pointer's declaration");
      }
      types_.define(each->Identifier()->getText(), types_.read(each->typeName()));
      return make(StatementKind::empty, context);
    }
    if (auto* each = dynamic_cast<CodParser::ExpressionStatementContext*>(context)) {
      if (each->commaExpression() == nullptr) return make(StatementKind::empty, context);
      StatementPtr result = make(StatementKind::expression, context);
      result->expression = comma(each->commaExpression());
      return result;
    }
    if (auto* each = dynamic_cast<CodParser::IfStatementContext*>(context)) {
      StatementPtr result = make(StatementKind::if_else, context);
      result->condition = comma(each->commaExpression());
      for (auto* child : each->statement()) result->children.push_back(statement(child));
      return result;
    }
    if (auto* each = dynamic_cast<CodParser::WhileStatementContext*>(context))
      return loop(StatementKind::while_loop, context, each->commaExpression(), each->statement());
    if (auto* each = dynamic_cast<CodParser::DoStatementContext*>(context))
      return loop(StatementKind::do_loop, context, each->commaExpression(), each->statement());
    if (auto* each = dynamic_cast<CodParser::ForStatementContext*>(context)) return for_loop(each);
    if (auto* each = dynamic_cast<CodParser::SwitchStatementContext*>(context))
      return loop(StatementKind::switch_case, context, each->commaExpression(), each->statement());
    if (auto* each = dynamic_cast<CodParser::CaseStatementContext*>(context)) {
      StatementPtr result = make(StatementKind::case_label, context);
      if (each->expression() != nullptr) result->condition = expression(each->expression());
      result->children.push_back(statement(each->statement()));
      return result;
    }
    if (dynamic_cast<CodParser::BreakStatementContext*>(context) != nullptr)
      return make(StatementKind::break_loop, context);
    if (dynamic_cast<CodParser::ContinueStatementContext*>(context) != nullptr)
      return make(StatementKind::continue_loop, context);
    StatementPtr result = make(StatementKind::return_value, context);
    if (auto* each = dynamic_cast<CodParser::ReturnStatementContext*>(context);
        each != nullptr && each->commaExpression() != nullptr) {
      result->expression = comma(each->commaExpression());
    }
    return result;
  }

  StatementPtr loop(StatementKind kind, antlr4::ParserRuleContext* context,
                    CodParser::CommaExpressionContext* condition, CodParser::StatementContext* body) {
    StatementPtr result = make(kind, context);
    result->condition = comma(condition);
    result->children.push_back(statement(body));
    return result;
  }

  StatementPtr for_loop(CodParser::ForStatementContext* context) {
    StatementPtr result = make(StatementKind::for_loop, context);
    if (context->test != nullptr) result->condition = comma(context->test);
    if (context->step != nullptr) result->expression = comma(context->step);
    result->children.push_back(statement(context->statement()));
    if (context->declaration() != nullptr) {
      result->children.push_back(declaration(context->declaration()));
    } else if (context->start != nullptr) {
      StatementPtr start = make(StatementKind::expression, context->start);
      start->expression = comma(context->start);
      result->children.push_back(std::move(start));
    }
    return result;
  }

  // -------------------------------------------------------------- expressions

  ExpressionPtr make(ExpressionKind kind, antlr4::ParserRuleContext* context) const {
    return make_expression(kind, position_of(context));
  }

  ExpressionPtr operation(ExpressionKind kind, Operator op, antlr4::ParserRuleContext* context,
                          std::initializer_list<CodParser::ExpressionContext*> operands) {
    ExpressionPtr result = make(kind, context);
    result->op = op;
    for (auto* operand : operands) result->operands.push_back(expression(operand));
    return result;
  }

  /// DepthLimit does not see chains such as `a + b + c + …`, which ANTLR parses without recursion, but the
  /// tree is equally deep.
  ExpressionPtr expression(CodParser::ExpressionContext* context) {
    if (++depth_ > maximum_rule_depth) throw TooDeep{position_of(context->getStart())};
    ExpressionPtr result = any_expression(context);
    --depth_;
    return result;
  }

  ExpressionPtr comma(CodParser::CommaExpressionContext* context) {
    if (context->expression().size() == 1) return expression(context->expression(0));
    ExpressionPtr result = make(ExpressionKind::comma, context);
    for (auto* each : context->expression()) result->operands.push_back(expression(each));
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
    if (auto* each = dynamic_cast<CodParser::CastExpressionContext*>(context)) {
      ExpressionPtr result = operation(ExpressionKind::cast, Operator::none, context, {each->expression()});
      result->take_type(types_.read_full(each->typeName(), each->pointer()));
      if (result->type == Type::structure)
        errors_.add(each->typeName()->getStart(), "a cast to a structure is not allowed",
                    "assign its fields");
      return result;
    }
    if (auto* each = dynamic_cast<CodParser::MemberExpressionContext*>(context)) {
      ExpressionPtr result = operation(ExpressionKind::member, Operator::none, context, {each->expression()});
      result->text = text_of(each->Identifier()->getSymbol());
      if (each->op->getText() == "->") {
        ExpressionPtr whole = make_expression(ExpressionKind::unary, result->operands[0]->position);
        whole->op = Operator::dereference;
        whole->operands.push_back(std::move(result->operands[0]));
        result->operands[0] = std::move(whole);
      }
      return result;
    }
    if (auto* each = dynamic_cast<CodParser::SizeofTypeExpressionContext*>(context)) {
      ExpressionPtr result = make(ExpressionKind::size, context);
      const FullType measured = types_.read_full(each->typeName(), each->pointer());
      if (measured.type == Type::pointer)
        errors_.add(each->typeName()->getStart(), "'sizeof' cannot be applied to a pointer",
                    "pointers are not stored in memory");
      if (measured.type == Type::nothing)
        errors_.add(each->typeName()->getStart(), "'sizeof' cannot be applied to 'void'");
      result->type = Type::u64;
      result->structure = measured.structure;
      result->value = measured.type == Type::structure ? 0 : bytes_of(measured.type);
      return result;
    }
    if (auto* each = dynamic_cast<CodParser::SizeofExpressionContext*>(context))
      return operation(ExpressionKind::size, Operator::none, context, {each->expression()});
    if (auto* each = dynamic_cast<CodParser::ConditionalExpressionContext*>(context)) {
      return operation(ExpressionKind::conditional, Operator::none, context,
                       {each->expression(0), each->expression(1), each->expression(2)});
    }
    auto* each = dynamic_cast<CodParser::AssignExpressionContext*>(context);
    // Only after a reported syntax error.
    if (each == nullptr) return make(ExpressionKind::integer, context);
    const std::string op = each->op->getText();
    return operation(ExpressionKind::assign,
                     op == "=" ? Operator::none : operator_of(op.substr(0, op.size() - 1)), context,
                     {each->expression(0), each->expression(1)});
  }

  ExpressionPtr primary(CodParser::PrimaryContext* context) {
    if (auto* each = dynamic_cast<CodParser::ParenthesisPrimaryContext*>(context))
      return comma(each->commaExpression());
    if (auto* each = dynamic_cast<CodParser::StringPrimaryContext*>(context)) {
      ExpressionPtr result = make(ExpressionKind::string, context);
      for (auto* piece : each->String()) result->text += string_literal(piece->getSymbol());
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
      character(*result, token);
    } else if (dynamic_cast<CodParser::IntegerPrimaryContext*>(context) != nullptr) {
      integer(*result, token);
    } else {
      result->value = dynamic_cast<CodParser::TruePrimaryContext*>(context) != nullptr ? 1 : 0;
      result->type = Type::boolean;
    }
    return result;
  }

  std::string string_literal(antlr4::Token* token) {
    std::string problem;
    std::string text = unquoted(text_of(token), problem);
    if (!problem.empty()) errors_.add(token, problem, "to write a backslash, use '\\\\'");
    return text;
  }

  ExpressionPtr floating(CodParser::PrimaryContext* context, antlr4::Token* token) {
    ExpressionPtr result = make(ExpressionKind::floating, context);
    std::string problem;
    std::tie(result->type, result->real) = floating_literal(text_of(token), problem);
    if (!problem.empty()) errors_.add(token, problem);
    return result;
  }

  void character(Expression& result, antlr4::Token* token) {
    const std::string text = string_literal(token);
    if (text.size() != 1) {
      errors_.add(token, "a character constant must contain exactly one character",
                  "use double quotes for a string");
    }
    const auto value = static_cast<signed char>(text.empty() ? 0 : text[0]);
    result.value = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    result.type = Type::i32;
  }

  void integer(Expression& result, antlr4::Token* token) {
    std::string problem;
    std::string hint;
    std::tie(result.type, result.value) = integer_literal(text_of(token), problem, hint);
    if (!problem.empty()) errors_.add(token, problem, hint);
  }

  SyntaxTree& tree_;
  SyntaxErrors& errors_;
  TypeReader types_;
  int depth_ = 0;
};

}  // namespace

void add_to_tree(const ParsedFile& file, SyntaxTree& tree, SyntaxErrors& errors) {
  TreeBuilder builder(tree, errors);
  builder.add(file);
  builder.finish();
}

}  // namespace lynxpp::cod
