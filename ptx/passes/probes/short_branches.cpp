#include "ptx/passes/probes/short_branches.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace lynxpp::ptx {
namespace {

/// Returns the target of a direct branch; nullptr for other statements.
const Label* target_of(const CodeStatement& statement) {
  const auto* const branch = std::get_if<CodeInstruction>(&statement);
  if (branch == nullptr || !branch->opcode.starts_with("bra") || branch->opcode.starts_with("brx"))
    return nullptr;
  return branch->operands.empty() ? nullptr : std::get_if<Label>(&branch->operands.front().value);
}

/// True if the instruction may have a guard instead of a branch over it.
bool may_be_guarded(const CodeStatement& statement) {
  constexpr std::array<std::string_view, 9> fixed{"activemask", "bar.", "brx",  "call", "exit",
                                                  "ret",        "shfl", "trap", "vote"};
  const auto* const instruction = std::get_if<CodeInstruction>(&statement);
  if (instruction == nullptr || instruction->guard) return false;
  const std::string_view opcode = instruction->opcode;
  return opcode.find(".sync") == std::string_view::npos &&
         std::ranges::none_of(fixed, [&](std::string_view each) { return opcode.starts_with(each); });
}

class ShortBranches {
 public:
  explicit ShortBranches(std::vector<CodeStatement>& statements) : statements_(statements) {}

  void run() {
    while (drop_labels() | drop_branches()) {}
  }

 private:
  bool drop_labels() {
    std::set<Label> targets;
    for (const CodeStatement& statement : statements_) {
      const auto* const instruction = std::get_if<CodeInstruction>(&statement);
      if (instruction == nullptr) continue;
      for (const CodeOperand& operand : instruction->operands) {
        if (const auto* const label = std::get_if<Label>(&operand.value)) targets.insert(*label);
      }
    }
    return std::erase_if(statements_, [&](const CodeStatement& statement) {
             const auto* const label = std::get_if<Label>(&statement);
             return label != nullptr && !targets.contains(*label);
           }) != 0;
  }

  bool drop_branches() {
    for (std::size_t i = 0; i < statements_.size(); ++i) {
      const Label* const target = target_of(statements_[i]);
      if (target == nullptr) continue;
      const auto& branch = std::get<CodeInstruction>(statements_[i]);
      if (!is_at(i + 1, *target)) {
        if (!branch.guard || !is_at(i + 2, *target) || !may_be_guarded(statements_[i + 1])) continue;
        auto& guarded = std::get<CodeInstruction>(statements_[i + 1]);
        guarded.guard = !*branch.guard;
        if (target_of(statements_[i + 1]) != nullptr) guarded.opcode = "bra";  // no longer uniform
      }
      statements_.erase(statements_.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    return false;
  }

  /// True if the label is among the labels that begin at the position.
  bool is_at(std::size_t position, const Label& label) const {
    for (; position < statements_.size(); ++position) {
      const auto* const found = std::get_if<Label>(&statements_[position]);
      if (found == nullptr) return false;
      if (*found == label) return true;
    }
    return false;
  }

  std::vector<CodeStatement>& statements_;
};

}  // namespace

void remove_short_branches(Code& code) { ShortBranches(code.statements).run(); }

}  // namespace lynxpp::ptx
