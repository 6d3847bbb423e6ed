#include "ptx/parser/statement_builder.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <optional>

#include "PtxParser.h"
#include "ptx/parser/cursor.h"
#include "ptx/parser/declaration.h"
#include "ptx/parser/literal.h"

namespace lynxpp::ptx {
namespace {

using grammar::PtxParser;

bool is_special_register(std::string_view name) {
  static constexpr std::string_view names[] = {"%tid",
                                               "%ntid",
                                               "%laneid",
                                               "%warpid",
                                               "%nwarpid",
                                               "%ctaid",
                                               "%nctaid",
                                               "%smid",
                                               "%nsmid",
                                               "%gridid",
                                               "%clusterid",
                                               "%nclusterid",
                                               "%cluster_ctaid",
                                               "%cluster_nctaid",
                                               "%cluster_ctarank",
                                               "%cluster_nctarank",
                                               "%is_explicit_cluster",
                                               "%lanemask_eq",
                                               "%lanemask_le",
                                               "%lanemask_lt",
                                               "%lanemask_ge",
                                               "%lanemask_gt",
                                               "%clock",
                                               "%clock_hi",
                                               "%clock64",
                                               "%globaltimer",
                                               "%globaltimer_lo",
                                               "%globaltimer_hi",
                                               "%reserved_smem_offset_begin",
                                               "%reserved_smem_offset_end",
                                               "%reserved_smem_offset_cap",
                                               "%reserved_smem_offset_0",
                                               "%reserved_smem_offset_1",
                                               "%total_smem_size",
                                               "%aggr_smem_size",
                                               "%dynamic_smem_size",
                                               "%current_graph_exec"};
  if (!name.starts_with('%')) return false;
  name = name.substr(0, name.find('.'));
  if (std::ranges::find(names, name) != std::end(names)) return true;
  for (const std::string_view family : {"%envreg", "%pm"}) {
    if (!name.starts_with(family)) continue;
    std::string_view number = name.substr(family.size());
    if (family == "%pm" && number.ends_with("_64")) number.remove_suffix(3);
    const bool digits = std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
    if (!number.empty() && number.size() <= 2 && digits) return true;
  }
  return false;
}

antlr4::Token* token_of(antlr4::tree::ParseTree* tree) {
  auto* const terminal = dynamic_cast<antlr4::tree::TerminalNode*>(tree);
  return terminal == nullptr ? nullptr : terminal->getSymbol();
}

}  // namespace

/// The conversion of one statement; it sees the builder's state and the grammar's types.
class StatementBuilder::Converter {
 public:
  Converter(StatementBuilder& builder, PtxParser::StatementContext& context)
      : builder_(builder), body_(builder.body_), source_(builder.module_.source()), context_(context) {}

  void convert() {
    auto* const child = dynamic_cast<antlr4::ParserRuleContext*>(context_.children.at(0));
    switch (child->getRuleIndex()) {
      case PtxParser::RuleInstruction:
        return convert_instruction(*static_cast<PtxParser::InstructionContext*>(child));
      case PtxParser::RuleLabel:
        add_statement(StatementKind::label,
                      word(static_cast<PtxParser::LabelContext*>(child)->WORD()->getSymbol()));
        return;
      case PtxParser::RuleTargetList:
        return convert_target_list(*static_cast<PtxParser::TargetListContext*>(child));
      case PtxParser::RulePrototype:
        body_.call_targets.push_back({word(child->getStart()), {}});
        add_statement(StatementKind::directive, ".callprototype");
        return;
      case PtxParser::RuleRegisterDeclaration:
        return convert_registers(*static_cast<PtxParser::RegisterDeclarationContext*>(child));
      case PtxParser::RuleVariableDeclaration: return convert_variables();
      case PtxParser::RuleLocation: return convert_location(*static_cast<PtxParser::LocationContext*>(child));
      case PtxParser::RuleScopeBegin: return begin_scope();
      case PtxParser::RuleScopeEnd: return end_scope();
      case PtxParser::RuleEmpty: add_statement(StatementKind::directive, {}); return;
      default: add_statement(StatementKind::directive, word(child->getStart()));
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

  void fail(antlr4::Token* token, std::string message, std::string hint = {}) {
    SourceLocation location{builder_.name_, static_cast<std::uint32_t>(token->getLine()),
                            static_cast<std::uint32_t>(token->getCharPositionInLine()) + 1,
                            static_cast<std::uint32_t>(word(token).size())};
    builder_.diagnostics_.push_back(
        {Severity::error, std::move(location), std::move(message), std::move(hint)});
  }

  Statement& add_statement(StatementKind kind, std::string_view name) {
    Statement statement;
    statement.kind = kind;
    statement.text = range_of(context_);
    statement.line = static_cast<std::uint32_t>(context_.getStart()->getLine());
    statement.scope = builder_.scope_;
    statement.name = name;
    return body_.statements.emplace_back(statement);
  }

  // ---- scopes and declarations

  void begin_scope() {
    const auto statement = static_cast<std::uint32_t>(body_.statements.size());
    add_statement(StatementKind::scope_begin, "{");
    body_.scopes.push_back({builder_.scope_, statement, statement});
    builder_.scope_ = static_cast<std::uint32_t>(body_.scopes.size() - 1);
  }

  void end_scope() {
    if (builder_.scope_ == 0) return fail(context_.getStart(), "'}' closes nothing");
    Scope& scope = body_.scopes[builder_.scope_];
    scope.end = static_cast<std::uint32_t>(body_.statements.size());
    builder_.scope_ = scope.parent;
    add_statement(StatementKind::scope_end, "}");
  }

  void convert_registers(PtxParser::RegisterDeclarationContext& context) {
    RegisterDeclaration declaration;
    declaration.scope = builder_.scope_;
    for (antlr4::tree::TerminalNode* node : context.DIRECTIVE()) {
      const std::string_view text = word(node->getSymbol());
      if (text == ".v2" || text == ".v4" || text == ".v8") {
        declaration.vector = static_cast<std::uint32_t>(text[2] - '0');
      } else {
        const DataType type = parse_data_type(text);
        declaration.type = type == DataType::none ? DataType::opaque : type;
      }
    }
    if (declaration.type == DataType::none)
      return fail(context.getStart(), "a register declaration without a type");
    for (PtxParser::RegisterNameContext* name : context.registerName()) {
      declaration.name = word(name->WORD()->getSymbol());
      declaration.count = 0;
      if (name->INTEGER() != nullptr) {
        antlr4::Token* const token = name->INTEGER()->getSymbol();
        const auto count = parse_integer_literal(word(token));
        if (!count || *count == 0 || *count > std::numeric_limits<std::uint32_t>::max()) {
          return fail(token, "a register range needs a count between 1 and 4294967295");
        }
        declaration.count = static_cast<std::uint32_t>(*count);
      }
      body_.registers.push_back(declaration);
    }
    add_statement(StatementKind::declaration, ".reg");
  }

  void convert_variables() {
    const TextRange text = range_of(context_);
    Cursor cursor(source_, text.begin, text.end);
    const Linkage linkage = parse_linkage(cursor);
    std::vector<Declarator> declarators = parse_variable_declaration(cursor, linkage, text.begin);
    if (cursor.failed()) {
      Diagnostic diagnostic = *cursor.error();
      diagnostic.location.file = builder_.name_;
      builder_.diagnostics_.push_back(std::move(diagnostic));
      return;
    }
    for (Declarator& declarator : declarators) {
      declarator.variable.scope = builder_.scope_;
      body_.variables.push_back(std::move(declarator.variable));
    }
    add_statement(StatementKind::declaration, word(context_.getStart()));
  }

  void convert_target_list(PtxParser::TargetListContext& context) {
    const std::vector<antlr4::tree::TerminalNode*> words = context.WORD();
    TargetList list{word(words.front()->getSymbol()), {}};
    for (std::size_t index = 1; index < words.size(); ++index)
      list.targets.push_back(word(words[index]->getSymbol()));
    const bool branches = context.BRANCHTARGETS() != nullptr;
    (branches ? body_.branch_targets : body_.call_targets).push_back(std::move(list));
    add_statement(StatementKind::directive, branches ? ".branchtargets" : ".calltargets");
  }

  void convert_location(PtxParser::LocationContext& context) {
    const auto number = [&](std::size_t index) {
      const auto value = parse_integer_literal(word(context.INTEGER(index)->getSymbol()));
      return static_cast<std::uint32_t>(value.value_or(0));
    };
    builder_.source_file_ = number(0);
    builder_.source_line_ = number(1);
    add_statement(StatementKind::directive, ".loc");
  }

  // ---- instructions

  void convert_instruction(PtxParser::InstructionContext& context) {
    Instruction instruction;
    instruction.text = range_of(context);
    instruction.line = static_cast<std::uint32_t>(context.getStart()->getLine());
    instruction.statement = static_cast<std::uint32_t>(body_.statements.size());
    instruction.source_file = builder_.source_file_;
    instruction.source_line = builder_.source_line_;
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
        convert_parts(*rule, instruction.operands);
      }
    }
    instruction.traits = classify(instruction.opcode);
    add_statement(StatementKind::instruction, {}).index =
        static_cast<std::uint32_t>(body_.instructions.size());
    body_.instructions.push_back(std::move(instruction));
  }

  /// Appends an operand for every rule among the children.
  void convert_parts(antlr4::ParserRuleContext& context, std::vector<Operand>& operands) {
    operands.reserve((context.children.size() + 1) / 2);
    for (antlr4::tree::ParseTree* child : context.children) {
      if (auto* const rule = dynamic_cast<antlr4::ParserRuleContext*>(child))
        operands.push_back(convert_operand(*rule));
    }
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
      case PtxParser::RuleAddress: return convert_address(context);
      default: return convert_value(context);
    }
  }

  Operand convert_group(antlr4::ParserRuleContext& context, OperandKind kind) {
    Operand operand;
    operand.kind = kind;
    operand.text = range_of(context);
    convert_parts(context, operand.elements);
    return operand;
  }

  Operand convert_address(antlr4::ParserRuleContext& context) {
    Operand operand = convert_group(context, OperandKind::address);
    // [base + offset]: the constant belongs to the address.
    if (!operand.elements.empty()) operand.offset = std::exchange(operand.elements[0].offset, 0);
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
        sum += convert_addend(*static_cast<antlr4::ParserRuleContext*>(child));
        continue;
      }
      switch (token->getType()) {
        case PtxParser::WORD: convert_word(word(token), operand); break;
        case PtxParser::INTEGER: convert_integer(token, operand); break;
        case PtxParser::FLOAT: convert_float(token, operand); break;
        default: sign = word(token)[0];
      }
    }
    apply_sign(context, sign, operand);
    if (operand.kind == OperandKind::integer) {
      operand.integer = add(operand.integer, sum);
    } else {
      operand.offset = sum;
    }
    return operand;
  }

  static std::int64_t add(std::int64_t left, std::int64_t right) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(left) + static_cast<std::uint64_t>(right));
  }
  static std::int64_t negate(std::int64_t value) { return add(~value, 1); }

  std::int64_t convert_addend(antlr4::ParserRuleContext& context) {
    Operand operand;
    convert_integer(context.getStop(), operand);
    const bool minus = word(context.getStart()) == "-";
    const bool second_minus = context.children.size() == 3;
    return minus != second_minus ? negate(operand.integer) : operand.integer;
  }

  void convert_word(std::string_view name, Operand& operand) {
    operand.name = name;
    if (name == "_") {
      operand.kind = OperandKind::sink;
    } else if (name == "WARP_SZ") {
      operand.kind = OperandKind::integer;
      operand.integer = 32;
    } else if (is_special_register(name)) {
      operand.kind = OperandKind::special_register;
    }
  }

  void convert_integer(antlr4::Token* token, Operand& operand) {
    const auto value = parse_integer_literal(word(token));
    if (!value) return fail(token, "'" + std::string(word(token)) + "' is no 64-bit integer");
    operand.kind = OperandKind::integer;
    operand.integer = static_cast<std::int64_t>(*value);
  }

  void convert_float(antlr4::Token* token, Operand& operand) {
    const auto literal = parse_float_literal(word(token));
    if (!literal) {
      return fail(token, "'" + std::string(word(token)) + "' is no floating-point literal",
                  "0f takes 8 hexadecimal digits, 0d takes 16");
    }
    operand.kind = OperandKind::floating;
    operand.bits = literal->bits;
    operand.is_single = literal->is_single;
  }

  void apply_sign(antlr4::ParserRuleContext& context, char sign, Operand& operand) {
    if (sign == '\0' || sign == '+') return;
    if (operand.kind == OperandKind::integer) {
      if (sign == '-') operand.integer = negate(operand.integer);
      if (sign == '~') operand.integer = ~operand.integer;
      if (sign == '!') operand.integer = operand.integer == 0 ? 1 : 0;
    } else if (sign == '~' || (operand.kind == OperandKind::floating && sign == '!')) {
      fail(context.getStart(), std::string("'") + sign + "' needs an integer");
    } else if (operand.kind == OperandKind::floating) {
      operand.bits ^= operand.is_single ? 0x80000000ULL : 0x8000000000000000ULL;
    } else {
      operand.negated = true;
    }
  }

  StatementBuilder& builder_;
  Body& body_;
  const std::string& source_;
  PtxParser::StatementContext& context_;
};

StatementBuilder::StatementBuilder(const Module& module, const std::string& name, Body& body)
    : module_(module), name_(name), body_(body) {
  body_.scopes.push_back({});
}

bool StatementBuilder::add(antlr4::tree::ParseTree* statement) {
  const std::size_t before = diagnostics_.size();
  Converter(*this, *static_cast<PtxParser::StatementContext*>(statement)).convert();
  return diagnostics_.size() == before;
}

void StatementBuilder::finish() {
  body_.scopes[0].end = static_cast<std::uint32_t>(body_.statements.size());
  body_.index_names();
}

}  // namespace lynxpp::ptx
