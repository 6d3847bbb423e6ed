#include "engine/verify.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/analysis/flow/control_flow_graph.h"
#include "ptx/analysis/registers/registers.h"
#include "ptx/emitter/emitter.h"
#include "ptx/parser/parser.h"
#include "support/text.h"

namespace lynxpp::engine {
namespace {

constexpr const char* file_name = "<instrumented>";
constexpr std::string_view register_prefix = "%lynxpp_";
constexpr std::string_view label_prefix = "$lynxpp_";
constexpr std::string_view name_prefix = "__lynxpp_";  ///< of parameters, variables and functions

/// A set of a body's registers.
class Registers {
 public:
  Registers(std::size_t count, bool all) : words_((count + 63) / 64, all ? ~std::uint64_t{0} : 0) {}

  bool contains(ptx::RegisterId reg) const { return (words_[reg / 64] >> reg % 64 & 1) != 0; }
  void add_written(const ptx::RegisterUsage& usage, std::uint32_t instruction) {
    for (const ptx::RegisterWrite& write : usage.writes(instruction))
      words_[write.reg / 64] |= std::uint64_t{1} << write.reg % 64;
  }
  /// Returns true if the intersection is smaller than this set was.
  bool keep_only(const Registers& others) {
    bool is_less = false;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      is_less |= (words_[i] & ~others.words_[i]) != 0;
      words_[i] &= others.words_[i];
    }
    return is_less;
  }

 private:
  std::vector<std::uint64_t> words_;
};

class BodyVerifier {
 public:
  /// `original` is the body before the passes.
  BodyVerifier(const ptx::Module& module, const ptx::Function& function, const ptx::Body& original,
               ptx::EditState state)
      : module_(module), function_(function), body_(*function.body), original_(original), state_(state) {}

  Status run() {
    if (Status once = declared_once(); !once) return once;
    for (const ptx::Statement& statement : body_.statements) {
      if (statement.kind != ptx::StatementKind::label || !statement.name.starts_with(label_prefix)) continue;
      if (!labels_.insert(statement.name).second)
        return complain("label", statement.name, "is defined twice", statement.line);
    }
    for (const ptx::Instruction& instruction : body_.instructions) {
      const std::uint32_t scope = body_.statements[instruction.statement].scope;
      if (Status known = is_known(instruction.guard.predicate, scope, instruction.line); !known) return known;
      for (const ptx::Operand& operand : instruction.operands) {
        if (Status known = is_known(operand, scope, instruction.line); !known) return known;
      }
      if (is_miscompiled(instruction))
        return complain("register", instruction.operands[0].name,
                        "is the result of a bfe with its position in a register", instruction.line);
    }
    for (const ptx::TargetList& list : body_.branch_targets) {
      for (const std::string_view target : list.targets) {
        if (Status known = is_known(target, 0, function_.line); !known) return known;
      }
    }
    return written_before_read();
  }

 private:
  /// ptxas 13.0 assumes that the result is warp-uniform if the value is, whatever the position.
  static bool is_miscompiled(const ptx::Instruction& instruction) {
    return instruction.op() == ptx::Op::bfe && instruction.operands.size() == 4 &&
           instruction.operands[0].name.starts_with(register_prefix) &&
           instruction.operands[2].kind != ptx::OperandKind::integer;
  }

  /// Checks that each of lynxpp's registers is written, guarded or not, on all paths to each read: a register
  /// of an inner scope hides one of the same name in an outer scope, which may be the one that was written.
  Status written_before_read() const {
    const ptx::ControlFlowGraph graph = ptx::build_control_flow_graph(function_);
    const ptx::RegisterUsage usage(body_);
    const std::vector<Registers> written = written_at_begin(graph, usage);
    for (std::uint32_t block = 0; block < graph.blocks.size(); ++block) {
      Registers known = written[block];
      for (std::uint32_t at = graph.blocks[block].begin; at < graph.blocks[block].end; ++at) {
        for (const ptx::RegisterId reg : usage.reads(at)) {
          const std::string_view name = usage.registers()[reg].name;
          if (!known.contains(reg) && name.starts_with(register_prefix))
            return complain("register", name, "is read before it is written", body_.instructions[at].line);
        }
        known.add_written(usage, at);
      }
    }
    return success();
  }

  /// Returns the blocks at labels of the program. The graph connects a brx.idx with unknown targets to every
  /// label, but its actual targets are the program's.
  std::set<std::uint32_t> blocks_of_program(const ptx::ControlFlowGraph& graph) const {
    std::set<std::uint32_t> blocks;
    for (const auto& [label, block] : graph.labels) {
      if (!label.starts_with(label_prefix)) blocks.insert(block);
    }
    return blocks;
  }

  /// True if the targets are unknown in the original, too: a target list that a pass lost or renamed is an
  /// error.
  bool has_unknown_targets(const ptx::BasicBlock& block) const {
    if (block.size() == 0) return false;
    const ptx::Instruction& last = body_.instructions[block.end - 1];
    const auto is_list = [&](const ptx::TargetList& list) { return list.name == last.operands.back().name; };
    return last.op() == ptx::Op::brx && !last.operands.empty() &&
           std::ranges::none_of(body_.branch_targets, is_list) &&
           std::ranges::none_of(original_.branch_targets, is_list);
  }

  /// Returns the registers written on all paths to each block's start; all registers for unreachable blocks.
  std::vector<Registers> written_at_begin(const ptx::ControlFlowGraph& graph,
                                          const ptx::RegisterUsage& usage) const {
    const std::size_t count = usage.registers().size();
    std::vector<Registers> written(graph.blocks.size(), Registers(count, true));
    if (written.empty()) return written;
    written[0] = Registers(count, false);
    const std::set<std::uint32_t> program = blocks_of_program(graph);
    std::set<std::uint32_t> work{0};  // block numbers: textual order is nearly reverse post-order
    while (!work.empty()) {
      const std::uint32_t at = *work.begin();
      work.erase(work.begin());
      Registers known = written[at];
      const ptx::BasicBlock& block = graph.blocks[at];
      for (std::uint32_t i = block.begin; i < block.end; ++i) known.add_written(usage, i);
      const bool is_unknown = has_unknown_targets(block);
      for (const std::uint32_t successor : block.successors) {
        if (is_unknown && successor != block.fall_through && !program.contains(successor)) continue;
        if (written[successor].keep_only(known)) work.insert(successor);
      }
    }
    return written;
  }

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
      return complain("label", name, "is not defined", line);
    if (state_ == ptx::EditState::complete && name.starts_with(name_prefix) && !is_declared(name, scope))
      return complain("name", name, "is not declared", line);
    return success();
  }

  bool is_declared(std::string_view name, std::uint32_t scope) const {
    const auto is_it = [&](const ptx::Variable& variable) { return variable.name == name; };
    return body_.find_variable(name, scope) != nullptr || module_.find_variable(name) != nullptr ||
           module_.find_function(name) != nullptr || std::ranges::any_of(function_.parameters, is_it) ||
           std::ranges::any_of(function_.returns, is_it);
  }

  Status complain(const char* kind, std::string_view name, const char* what, std::uint32_t line) const {
    return failure_at({file_name, line, 0},
                      std::string(kind) + " '" + std::string(name) + "' of '" + function_.name + "' " + what);
  }

  const ptx::Module& module_;
  const ptx::Function& function_;
  const ptx::Body& body_;
  const ptx::Body& original_;
  const ptx::EditState state_;
  std::set<std::string_view> labels_;
};

/// Checks that replaced ranges are apart or inside each other.
Status verify_ranges(const ptx::Module& module, const ptx::EditList& edits) {
  std::vector<ptx::TextRange> replaced;
  for (const ptx::Edit& edit : edits.edits()) {
    if (!edit.range.empty()) replaced.push_back(edit.range);
  }
  std::ranges::sort(replaced, [](const ptx::TextRange& left, const ptx::TextRange& right) {
    return left.begin != right.begin ? left.begin < right.begin : left.end > right.end;
  });
  ptx::TextRange outer{0, 0};  // that ends last, of those before
  for (const ptx::TextRange& range : replaced) {
    if (range.begin < outer.end && range.end > outer.end)
      return failure("the replacements of '" + std::string(module.text(outer)) + "' and '" +
                     std::string(module.text(range)) + "' overlap");
    if (range.end > outer.end) outer = range;
  }
  return success();
}

/// Appends the line of the text to the message.
Status quoted(Failure problem, std::string_view text) {
  ptx::TextRange line{0, 0};
  for (std::uint32_t number = 0; number != problem.diagnostics.front().location.line; ++number) {
    line.begin = line.end;
    line.end = static_cast<std::uint32_t>(std::min(text.find('\n', line.begin), text.size() - 1)) + 1;
  }
  const std::string_view quote = trim(text.substr(line.begin, line.end - line.begin));
  if (!quote.empty()) problem.diagnostics.front().message += ", in '" + std::string(quote) + "'";
  return problem;
}

}  // namespace

Status verify(const ptx::InstrumentationUnit& unit, const ptx::EditList& edits, ptx::EditState state) {
  if (Status apart = verify_ranges(unit.module, edits); !apart) return apart;
  const std::string text = ptx::emit(unit.module, edits);
  Result<ptx::Module> module = ptx::parse_module(text, file_name);
  if (!module) return quoted(std::move(module.error()), text);
  for (const ptx::FunctionUnit& original : unit.reached.functions) {
    ptx::Function* const function = module->find_function(original.function->name);
    if (function == nullptr || function->is_declaration())
      return failure("the function '" + original.function->name + "' is missing");
    if (Status parsed = ptx::parse_body(*module, *function, file_name); !parsed)
      return quoted(std::move(parsed.error()), text);
    BodyVerifier verifier(*module, *function, *original.function->body, state);
    if (Status verified = verifier.run(); !verified) return quoted(std::move(verified.error()), text);
  }
  return success();
}

}  // namespace lynxpp::engine
