#include "ptx/passes/counting/flow/likely.h"

#include <algorithm>
#include <optional>

namespace lynxpp::ptx {

LikelyBranches::LikelyBranches(const CountedFunction& function)
    : function_(function), graph_(function.graph()) {
  // Compiled code defines a predicate once. Predicates with several definitions are not followed.
  for (const Instruction& instruction : function.instructions()) {
    if (instruction.op() != Op::setp && instruction.traits.type != DataType::pred) continue;
    if (instruction.operands.empty()) continue;
    const auto [entry, is_new] = definitions_.try_emplace(instruction.operands[0].name, &instruction);
    if (!is_new || instruction.guarded()) entry->second = nullptr;
  }
}

bool LikelyBranches::needs_equality(std::uint32_t block, std::uint32_t target) const {
  const BasicBlock& range = graph_.blocks[block];
  if (range.size() == 0) return false;
  const Instruction& last = function_.instructions()[range.end - 1];
  if (!last.guarded()) return false;
  const bool leaves = target >= graph_.blocks.size();
  const bool jumps = leaves ? last.traits.kind == OpcodeClass::exit
                            : std::ranges::find(range.targets, target) != range.targets.end();
  Guard goes = last.guard;
  if (!jumps) goes.negated = !goes.negated;
  Guard stays = goes;
  stays.negated = !stays.negated;
  return !is_likely(goes) && is_likely(stays);
}

bool LikelyBranches::is_within_bounds(std::uint32_t block, std::uint32_t target) const {
  if ((function_.analyses->uniformity().of_branch(block) & varies_over_blocks) == 0) return false;
  Guard guard = function_.instructions()[graph_.blocks[block].end - 1].guard;
  if (target == graph_.blocks[block].fall_through) guard.negated = !guard.negated;
  return is_likely(guard);
}

bool LikelyBranches::needs_equality(std::string_view predicate, bool wanted, int depth) const {
  const auto found = definitions_.find(predicate);
  if (found == definitions_.end() || found->second == nullptr || depth == 0) return true;
  const Instruction& made = *found->second;
  const std::optional<Comparison> comparison = made.traits.comparison;
  if (comparison == Comparison::equal || comparison == Comparison::unequal)
    return made.operands.size() != 3 || (comparison == Comparison::equal) == wanted;
  if (made.op() == Op::setp) return made.operands.size() != 3;
  if (made.op() == Op::bit_not && made.operands.size() == 2)
    return needs_equality(made.operands[1].name, wanted == made.operands[1].negated, depth - 1);
  const bool is_or = made.op() == Op::bit_or;
  if ((!is_or && made.op() != Op::bit_and) || made.operands.size() != 3) return true;
  const auto needs = [&](const Operand& part) {
    return needs_equality(part.name, wanted != part.negated, depth - 1);
  };
  const bool first = needs(made.operands[1]);
  const bool second = needs(made.operands[2]);
  return is_or == wanted ? first && second : first || second;
}

}  // namespace lynxpp::ptx
