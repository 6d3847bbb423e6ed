#include "ptx/parser/tree_converter.h"

#include <limits>
#include <utility>
#include <vector>

#include "PtxParser.h"
#include "ptx/ir/array_element.h"
#include "ptx/parser/constant_expression.h"
#include "ptx/parser/cursor.h"
#include "ptx/parser/declaration.h"
#include "ptx/parser/literal.h"
#include "ptx/parser/operand_value.h"

namespace lynxpp::ptx {
namespace {

using grammar::PtxParser;

/// Converts one statement.
class Conversion {
 public:
  Conversion(const Module& module, const std::string& name, BodyBuilder& builder, Diagnostics& diagnostics,
             PtxParser::StatementContext& context)
      : module_(module),
        source_(module.source()),
        name_(name),
        builder_(builder),
        diagnostics_(diagnostics),
        context_(context) {}

  void convert() {
    auto* const child = dynamic_cast<antlr4::ParserRuleContext*>(context_.children.at(0));
    switch (child->getRuleIndex()) {
      case PtxParser::RuleInstruction:
        return convert_instruction(*static_cast<PtxParser::InstructionContext*>(child));
      case PtxParser::RuleLabel:
        return builder_.add_statement(
            StatementKind::label, location(),
            word(static_cast<PtxParser::LabelContext*>(child)->WORD()->getSymbol()));
      case PtxParser::RuleTargetList:
        return convert_target_list(*static_cast<PtxParser::TargetListContext*>(child));
      case PtxParser::RulePrototype: return builder_.add_prototype(location(), word(child->getStart()));
      case PtxParser::RuleRegisterDeclaration:
        return convert_registers(*static_cast<PtxParser::RegisterDeclarationContext*>(child));
      case PtxParser::RuleVariableDeclaration: return convert_variables();
      case PtxParser::RuleLocation: return convert_location(*static_cast<PtxParser::LocationContext*>(child));
      case PtxParser::RuleScopeBegin: return builder_.begin_scope(location());
      case PtxParser::RuleScopeEnd:
        if (!builder_.end_scope(location())) fail(context_.getStart(), "'}' has no matching '{'");
        return;
      case PtxParser::RuleEmpty: return builder_.add_statement(StatementKind::directive, location(), {});
      default: builder_.add_statement(StatementKind::directive, location(), word(child->getStart()));
    }
  }

 private:
  // ---- text

  static TextRange range_of(antlr4::Token* first, antlr4::Token* last) {
    return {static_cast<std::uint32_t>(first->getStartIndex()),
            static_cast<std::uint32_t>(last->getStopIndex() + 1)};
  }
  static TextRange range_of(antlr4::ParserRuleContext& context) {
    return range_of(context.getStart(), context.getStop());
  }
  std::string_view view(TextRange range) const {
    return std::string_view(source_).substr(range.begin, range.end - range.begin);
  }
  std::string_view word(antlr4::Token* token) const { return view(range_of(token, token)); }
  StatementLocation location() const {
    return {range_of(context_), static_cast<std::uint32_t>(context_.getStart()->getLine())};
  }

  void fail(antlr4::Token* token, std::string message, std::string hint = {}) {
    SourceLocation location{name_, static_cast<std::uint32_t>(token->getLine()),
                            static_cast<std::uint32_t>(token->getCharPositionInLine()) + 1,
                            static_cast<std::uint32_t>(word(token).size())};
    diagnostics_.push_back({Severity::error, std::move(location), std::move(message), std::move(hint)});
  }

  // ---- declarations and directives

  void convert_registers(PtxParser::RegisterDeclarationContext& context) {
    RegisterDeclaration declaration;
    for (antlr4::tree::TerminalNode* node : context.DIRECTIVE())
      apply_register_directive(declaration, word(node->getSymbol()));
    if (declaration.type == DataType::none)
      return fail(context.getStart(), "a register declaration without a type");
    std::vector<RegisterDeclaration> declarations;
    for (PtxParser::RegisterNameContext* name : context.registerName()) {
      declaration.name = word(name->WORD()->getSymbol());
      declaration.count = 0;
      if (name->INTEGER() != nullptr) {
        antlr4::Token* const token = name->INTEGER()->getSymbol();
        const auto count = parse_register_count(word(token));
        if (!count) return fail(token, "a register range needs a count between 1 and 4294967295");
        declaration.count = *count;
      }
      declarations.push_back(declaration);
    }
    builder_.add_registers(location(), std::move(declarations));
  }

  void convert_variables() {
    const TextRange text = range_of(context_);
    Cursor cursor(source_, text.begin, text.end);
    const Linkage linkage = parse_linkage(cursor);
    std::vector<Declarator> declarators = parse_variable_declaration(cursor, linkage, text.begin);
    if (cursor.failed()) {
      Diagnostic diagnostic = *cursor.error();
      diagnostic.location.file = name_;
      diagnostics_.push_back(std::move(diagnostic));
      return;
    }
    builder_.add_variables(location(), std::move(declarators), word(context_.getStart()));
  }

  void convert_target_list(PtxParser::TargetListContext& context) {
    const std::vector<antlr4::tree::TerminalNode*> words = context.WORD();
    TargetList list{word(words.front()->getSymbol()), {}};
    for (std::size_t index = 1; index < words.size(); ++index)
      list.targets.push_back(word(words[index]->getSymbol()));
    builder_.add_targets(location(), std::move(list), context.BRANCHTARGETS() != nullptr);
  }

  void convert_location(PtxParser::LocationContext& context) {
    const auto position = [&](auto& numbers) {
      const auto number = [&](std::size_t index) {
        const auto value = parse_integer_literal(word(numbers.INTEGER(index)->getSymbol()));
        return static_cast<std::uint32_t>(value.value_or(0));
      };
      return SourcePosition{number(0), number(1), number(2)};
    };
    std::optional<SourcePosition> inlined_at;
    std::string_view function;
    for (PtxParser::LocationPartContext* const part : context.locationPart()) {
      const std::size_t numbers = part->INTEGER().size();
      if (numbers == 3) inlined_at = position(*part);
      if (numbers < 2) function = numbers == 0 ? word(part->WORD(1)->getSymbol()) : std::string_view();
    }
    builder_.add_location(location(), position(context), inlined_at, function);
  }

  // ---- instructions

  void convert_instruction(PtxParser::InstructionContext& context) {
    Instruction instruction;
    // guard? opcode operands? ';'
    for (antlr4::tree::ParseTree* child : context.children) {
      auto* const rule = dynamic_cast<antlr4::ParserRuleContext*>(child);
      if (rule == nullptr) continue;
      if (rule->getRuleIndex() == PtxParser::RuleGuard) {
        instruction.guard.negated = rule->children.size() == 3;
        instruction.guard.predicate = word(rule->getStop());
      } else if (rule->getRuleIndex() == PtxParser::RuleOpcode) {
        instruction.opcode = opcode_of(*rule);
        instruction.traits = builder_.traits_of(instruction.opcode);
      } else {
        instruction.operands = convert_operands(*rule, instruction.traits);
      }
    }
    builder_.add_instruction(location(), instruction);
  }

  std::string_view opcode_of(antlr4::ParserRuleContext& context) {
    const TextRange spelled = range_of(context);
    std::string opcode = context.getText();  // the tokens without the text between them
    const std::string_view text = view(spelled);
    return opcode == text ? text : builder_.keep_opcode(std::move(opcode), spelled);
  }

  OperandList convert_operands(antlr4::ParserRuleContext& context, const OpcodeTraits& traits) {
    std::vector<Operand> operands = convert_parts(context);
    for (Operand& operand : operands) {
      const bool is_single = operand.elements.size() == 1;
      if (operand.kind == OperandKind::list && traits.kind != OpcodeClass::call && is_single &&
          (operand.elements[0].kind == OperandKind::integer ||
           operand.elements[0].kind == OperandKind::floating)) {
        const TextRange text = operand.text;
        operand = operand.elements[0];
        operand.text = text;
      } else if (operand.kind == OperandKind::address && !traits.is_memory_access() &&
                 !array_element(operand) && source_[operand.text.begin] != '[') {
        // Outside an access, a[1] is the address itself, like a+4.
        const std::int64_t offset = operand.offset;
        const TextRange text = operand.text;
        operand = operand.elements[0];
        operand.offset = offset;
        operand.text = text;
      }
    }
    return builder_.keep(operands);
  }

  /// Converts every rule among the children to an operand.
  std::vector<Operand> convert_parts(antlr4::ParserRuleContext& context) {
    std::vector<Operand> operands;
    operands.reserve((context.children.size() + 1) / 2);
    for (antlr4::tree::ParseTree* child : context.children) {
      if (auto* const rule = dynamic_cast<antlr4::ParserRuleContext*>(child))
        operands.push_back(convert_operand(*rule));
    }
    return operands;
  }

  Operand convert_operand(antlr4::ParserRuleContext& context) {
    switch (context.getRuleIndex()) {
      case PtxParser::RuleOperand:
      case PtxParser::RuleAddressPart:
        if (context.children.size() == 1)
          return convert_operand(*static_cast<antlr4::ParserRuleContext*>(context.children[0]));
        if (context.children.size() == 2) return convert_element(context);
        return convert_group(context, OperandKind::pair);
      case PtxParser::RuleVector: return convert_group(context, OperandKind::vector);
      case PtxParser::RuleList: return convert_group(context, OperandKind::list);
      case PtxParser::RuleAddress: return convert_group(context, OperandKind::address);
      default: return convert_value(static_cast<PtxParser::ValueContext&>(context));
    }
  }

  /// A vector of one element is replaced by that element.
  Operand convert_group(antlr4::ParserRuleContext& context, OperandKind kind) {
    std::vector<Operand> elements = convert_parts(context);
    if (kind == OperandKind::vector && elements.size() == 1) {
      elements[0].text = range_of(context);
      return elements[0];
    }
    Operand operand;
    operand.kind = kind;
    operand.text = range_of(context);
    // [base + offset]: the constant belongs to the address.
    if (kind == OperandKind::address && !elements.empty())
      operand.offset = std::exchange(elements[0].offset, 0);
    operand.elements = builder_.keep(elements);
    return operand;
  }

  /// `a[2]`: the address of that element, such as [a + 8] if elements have four bytes.
  Operand convert_element(antlr4::ParserRuleContext& context) {
    Operand operand;
    operand.kind = OperandKind::address;
    operand.text = range_of(context);
    Operand base;
    base.text = range_of(context.getStart(), context.getStart());
    set_name(base, view(base.text));
    auto& element = static_cast<PtxParser::ElementContext&>(*context.children[1]);
    const Operand index = convert_value(*element.value());
    const Variable* array = builder_.find_variable(base.name);
    if (array == nullptr) array = module_.find_variable(base.name);
    const bool is_register = is_index_register(index);
    if (index.kind != OperandKind::integer && !is_register) {
      fail(element.value()->getStart(), "an array index must be an integer constant or a register");
    } else if (array == nullptr || size_of(array->type) == 0) {
      fail(context.getStart(), "'" + std::string(base.name) + "' is not an array with a known element size",
           "write the address as [name+bytes]");
    } else if (is_register) {
      operand.integer = std::int64_t{size_of(array->type)} * array->vector;
    } else {
      operand.offset = wrapping_product(index.integer, std::int64_t{size_of(array->type)} * array->vector);
    }
    const Operand parts[] = {base, index};
    operand.elements = builder_.keep({parts, is_register ? 2U : 1U});
    return operand;
  }

  bool is_index_register(const Operand& index) const {
    if (index.kind != OperandKind::identifier || index.negated) return false;
    const RegisterDeclaration* declared = builder_.find_register(index.name);
    return declared != nullptr && declared->vector == 1 && size_of(declared->type) > 1 &&
           size_of(declared->type) <= 8 && !is_floating(declared->type);
  }

  /// Returns the signs of a term, in textual order; '(' represents a cast.
  static std::string signs_of(PtxParser::TermContext& term) {
    std::string signs;
    bool has_cast = false;
    for (std::size_t at = 0; at + 1 < term.children.size(); ++at) {
      if (auto* const rule = dynamic_cast<antlr4::ParserRuleContext*>(term.children[at])) {
        if (rule->getRuleIndex() == PtxParser::RuleSign) signs += rule->getText();
      } else if (auto* const token = dynamic_cast<antlr4::tree::TerminalNode*>(term.children[at])) {
        const bool is_type = token->getSymbol()->getType() == PtxParser::DIRECTIVE;
        if (is_type && !std::exchange(has_cast, true)) signs += '(';
      }
    }
    return signs;
  }

  /// Returns the name of a term as one token.
  std::string_view name_of(PtxParser::TermContext& term) {
    const std::string_view name = word(term.WORD()->getSymbol());
    if (term.component() == nullptr) return name;
    antlr4::Token* const component = term.component()->getStart();
    const std::string_view joined = special_register_component(name, word(component));
    if (joined.empty()) {
      fail(component, "unexpected '" + std::string(word(component)) + "'",
           "a register's component must directly follow its name");
    }
    return joined;
  }

  Operand convert_value(PtxParser::ValueContext& context) {
    PtxParser::TermContext& first = *context.term(0);
    const bool is_single = context.children.size() == 1;
    const bool is_name = first.WORD() != nullptr && word(first.WORD()->getSymbol()) != "WARP_SZ";
    const std::string signs = signs_of(first);
    const bool is_literal = first.inner() == nullptr && signs.size() <= 1 && signs != "(";
    if (!is_name && !(is_single && is_literal)) return convert_constant(context);
    Operand operand;
    operand.text = range_of(context);
    if (first.WORD() != nullptr) {
      set_name(operand, name_of(first));
    } else if (first.INTEGER() != nullptr) {
      convert_integer(first.INTEGER()->getSymbol(), operand);
    } else {
      convert_float(first.FLOAT()->getSymbol(), operand);
    }
    if (!is_literal) {
      fail(context.getStart(), "a name can have only one sign");
    } else if (!signs.empty() && !apply_sign(operand, signs[0])) {
      fail(context.getStart(), std::string("'") + signs[0] + "' needs an integer");
    }
    if (!is_single) operand.offset = convert_addend(context);
    return operand;
  }

  /// Evaluates the constant after a name, starting with its `+` or `-`.
  std::int64_t convert_addend(PtxParser::ValueContext& context) {
    antlr4::Token* const sign = context.binaryOperator(0)->getStart();
    if (word(sign) != "+" && word(sign) != "-") {
      fail(sign, "only a constant can be added to a name");
      return 0;
    }
    const Constant addend = evaluate(range_of(sign, context.getStop()));
    if (addend.is_floating) fail(sign, "only an integer can be added to a name");
    return addend.integer;
  }

  Operand convert_constant(PtxParser::ValueContext& context) {
    Operand operand;
    operand.text = range_of(context);
    const Constant value = evaluate(operand.text);
    operand.kind = value.is_floating ? OperandKind::floating : OperandKind::integer;
    operand.integer = value.integer;
    operand.bits = value.floating.bits;
    operand.is_single = value.floating.is_single;
    return operand;
  }

  Constant evaluate(TextRange text) {
    Cursor cursor(source_, text.begin, text.end);
    const auto value = constant_expression(cursor);
    if (value && cursor.at_end()) return *value;
    if (!cursor.failed()) cursor.fail("unexpected " + cursor.describe_next() + " in a constant expression");
    Diagnostic diagnostic = *cursor.error();
    diagnostic.location.file = name_;
    diagnostics_.push_back(std::move(diagnostic));
    return {};
  }

  void convert_integer(antlr4::Token* token, Operand& operand) {
    if (!set_integer(operand, word(token)))
      fail(token, "'" + std::string(word(token)) + "' is not a 64-bit integer");
  }

  void convert_float(antlr4::Token* token, Operand& operand) {
    if (!set_float(operand, word(token))) {
      fail(token, "'" + std::string(word(token)) + "' is not a floating-point literal",
           "0f takes 8 hexadecimal digits, 0d takes 16");
    }
  }

  const Module& module_;
  const std::string& source_;
  const std::string& name_;
  BodyBuilder& builder_;
  Diagnostics& diagnostics_;
  PtxParser::StatementContext& context_;
};

}  // namespace

void convert_statement(const Module& module, const std::string& name, antlr4::tree::ParseTree& statement,
                       BodyBuilder& builder, Diagnostics& diagnostics) {
  Conversion(module, name, builder, diagnostics, static_cast<PtxParser::StatementContext&>(statement))
      .convert();
}

}  // namespace lynxpp::ptx
