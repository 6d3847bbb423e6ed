#include "ptx/parser/tree_converter.h"

#include <limits>
#include <utility>
#include <vector>

#include "PtxParser.h"
#include "ptx/parser/cursor.h"
#include "ptx/parser/declaration.h"
#include "ptx/parser/literal.h"
#include "ptx/parser/operand_value.h"

namespace lynxpp::ptx {
namespace {

using grammar::PtxParser;

antlr4::Token* token_of(antlr4::tree::ParseTree* tree) {
  auto* const terminal = dynamic_cast<antlr4::tree::TerminalNode*>(tree);
  return terminal == nullptr ? nullptr : terminal->getSymbol();
}

/// The conversion of one statement.
class Conversion {
 public:
  Conversion(const std::string& source, const std::string& name, BodyBuilder& builder,
             Diagnostics& diagnostics, PtxParser::StatementContext& context)
      : source_(source), name_(name), builder_(builder), diagnostics_(diagnostics), context_(context) {}

  void convert() {
    auto* const child = dynamic_cast<antlr4::ParserRuleContext*>(context_.children.at(0));
    switch (child->getRuleIndex()) {
      case PtxParser::RuleInstruction:
        return convert_instruction(*static_cast<PtxParser::InstructionContext*>(child));
      case PtxParser::RuleLabel:
        return builder_.add_statement(
            StatementKind::label, place(),
            word(static_cast<PtxParser::LabelContext*>(child)->WORD()->getSymbol()));
      case PtxParser::RuleTargetList:
        return convert_target_list(*static_cast<PtxParser::TargetListContext*>(child));
      case PtxParser::RulePrototype: return builder_.add_prototype(place(), word(child->getStart()));
      case PtxParser::RuleRegisterDeclaration:
        return convert_registers(*static_cast<PtxParser::RegisterDeclarationContext*>(child));
      case PtxParser::RuleVariableDeclaration: return convert_variables();
      case PtxParser::RuleLocation: return convert_location(*static_cast<PtxParser::LocationContext*>(child));
      case PtxParser::RuleScopeBegin: return builder_.begin_scope(place());
      case PtxParser::RuleScopeEnd:
        if (!builder_.end_scope(place())) fail(context_.getStart(), "'}' closes nothing");
        return;
      case PtxParser::RuleEmpty: return builder_.add_statement(StatementKind::directive, place(), {});
      default: builder_.add_statement(StatementKind::directive, place(), word(child->getStart()));
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
  Place place() const {
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
    builder_.add_registers(place(), std::move(declarations));
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
    builder_.add_variables(place(), std::move(declarators), word(context_.getStart()));
  }

  void convert_target_list(PtxParser::TargetListContext& context) {
    const std::vector<antlr4::tree::TerminalNode*> words = context.WORD();
    TargetList list{word(words.front()->getSymbol()), {}};
    for (std::size_t index = 1; index < words.size(); ++index)
      list.targets.push_back(word(words[index]->getSymbol()));
    builder_.add_targets(place(), std::move(list), context.BRANCHTARGETS() != nullptr);
  }

  void convert_location(PtxParser::LocationContext& context) {
    const auto number = [&](std::size_t index) {
      const auto value = parse_integer_literal(word(context.INTEGER(index)->getSymbol()));
      return static_cast<std::uint32_t>(value.value_or(0));
    };
    builder_.add_location(place(), number(0), number(1));
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
        instruction.opcode = view(range_of(*rule));
      } else {
        instruction.operands = convert_parts(*rule);
      }
    }
    builder_.add_instruction(place(), instruction);
  }

  /// An operand for every rule among the children.
  OperandList convert_parts(antlr4::ParserRuleContext& context) {
    std::vector<Operand> operands;
    operands.reserve((context.children.size() + 1) / 2);
    for (antlr4::tree::ParseTree* child : context.children) {
      if (auto* const rule = dynamic_cast<antlr4::ParserRuleContext*>(child))
        operands.push_back(convert_operand(*rule));
    }
    return builder_.keep(operands);
  }

  Operand convert_operand(antlr4::ParserRuleContext& context) {
    switch (context.getRuleIndex()) {
      case PtxParser::RuleOperand:
      case PtxParser::RuleAddressPart:
        if (context.children.size() == 1) {
          return convert_operand(*static_cast<antlr4::ParserRuleContext*>(context.children[0]));
        }
        return convert_group(context, OperandKind::pair);
      case PtxParser::RuleVector: return convert_group(context, OperandKind::vector);
      case PtxParser::RuleList: return convert_group(context, OperandKind::list);
      case PtxParser::RuleAddress: return convert_group(context, OperandKind::address);
      default: return convert_value(context);
    }
  }

  Operand convert_group(antlr4::ParserRuleContext& context, OperandKind kind) {
    std::vector<Operand> elements;
    elements.reserve((context.children.size() + 1) / 2);
    for (antlr4::tree::ParseTree* child : context.children) {
      if (auto* const rule = dynamic_cast<antlr4::ParserRuleContext*>(child))
        elements.push_back(convert_operand(*rule));
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

  Operand convert_value(antlr4::ParserRuleContext& context) {
    Operand operand;
    operand.text = range_of(context);
    char sign = '\0';
    std::int64_t sum = 0;
    for (antlr4::tree::ParseTree* child : context.children) {
      antlr4::Token* const token = token_of(child);
      if (token == nullptr) {
        sum = wrapping_sum(sum, convert_addend(*static_cast<antlr4::ParserRuleContext*>(child)));
        continue;
      }
      switch (token->getType()) {
        case PtxParser::WORD: set_name(operand, word(token)); break;
        case PtxParser::INTEGER: convert_integer(token, operand); break;
        case PtxParser::FLOAT: convert_float(token, operand); break;
        default: sign = word(token)[0];
      }
    }
    if (!apply_sign(operand, sign)) fail(context.getStart(), std::string("'") + sign + "' needs an integer");
    if (operand.kind == OperandKind::integer) {
      operand.integer = wrapping_sum(operand.integer, sum);
    } else {
      operand.offset = sum;
    }
    return operand;
  }

  std::int64_t convert_addend(antlr4::ParserRuleContext& context) {
    Operand operand;
    convert_integer(context.getStop(), operand);
    const bool minus = word(context.getStart()) == "-";
    const bool second_minus = context.children.size() == 3;
    return minus != second_minus ? wrapping_negative(operand.integer) : operand.integer;
  }

  void convert_integer(antlr4::Token* token, Operand& operand) {
    if (!set_integer(operand, word(token)))
      fail(token, "'" + std::string(word(token)) + "' is no 64-bit integer");
  }

  void convert_float(antlr4::Token* token, Operand& operand) {
    if (!set_float(operand, word(token))) {
      fail(token, "'" + std::string(word(token)) + "' is no floating-point literal",
           "0f takes 8 hexadecimal digits, 0d takes 16");
    }
  }

  const std::string& source_;
  const std::string& name_;
  BodyBuilder& builder_;
  Diagnostics& diagnostics_;
  PtxParser::StatementContext& context_;
};

}  // namespace

void convert_statement(const Module& module, const std::string& name, antlr4::tree::ParseTree& statement,
                       BodyBuilder& builder, Diagnostics& diagnostics) {
  Conversion(module.source(), name, builder, diagnostics,
             static_cast<PtxParser::StatementContext&>(statement))
      .convert();
}

}  // namespace lynxpp::ptx
