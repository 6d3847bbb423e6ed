#include "ptx/passes/counting/flow/likely_ways.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t short_end = 4;  // instructions

}  // namespace

LikelyWays::LikelyWays(const CountedFunction& function)
    : function_(function),
      graph_(function.unit->graph),
      instructions_(function.unit->function->body->instructions) {
  // Compiled code defines a predicate once; others are not followed.
  for (const Instruction& instruction : instructions_) {
    if (!instruction.opcode.starts_with("setp.") && !instruction.opcode.ends_with(".pred")) continue;
    if (instruction.operands.empty()) continue;
    const auto [place, is_new] = definitions_.try_emplace(instruction.operands[0].name, &instruction);
    if (!is_new || instruction.guarded()) place->second = nullptr;
  }
}

bool LikelyWays::is_within_bounds(std::uint32_t block, std::uint32_t target) const {
  if ((function_.analyses->uniformity().of_branch(block) & varies_over_blocks) == 0) return false;
  Guard guard = instructions_[graph_.blocks[block].end - 1].guard;
  if (target == graph_.blocks[block].fall_through) guard.negated = !guard.negated;
  return is_likely(guard);
}

std::uint32_t LikelyWays::body_within_bounds(std::uint32_t block) const {
  const BasicBlock& range = graph_.blocks[block];
  const LoopNest& loops = function_.analyses->loops();
  if (range.successors.size() != 2 || range.targets.size() != 1 || loops.depth_of(block) == 0)
    return no_block;
  const Instruction& last = instructions_[range.end - 1];
  if (!last.guarded() || last.traits.kind != OpcodeClass::branch || last.opcode.starts_with("brx"))
    return no_block;
  const std::uint32_t meeting = function_.analyses->post_dominators()[block];
  const bool is_first = range.successors[1] == meeting;
  const std::uint32_t body = range.successors[is_first ? 0 : 1];
  if (meeting == no_block || loops.loop_of(meeting) != loops.loop_of(block) ||
      loops.loop_of(body) != loops.loop_of(block))
    return no_block;
  if (body == meeting || range.successors[is_first ? 1 : 0] != meeting ||
      graph_.blocks[body].predecessors.size() != 1 || !is_within_bounds(block, body))
    return no_block;
  return body;
}

std::uint32_t LikelyWays::way_on(std::uint32_t block) const {
  const BasicBlock& range = graph_.blocks[block];
  if (range.successors.size() < 2) return range.successors.empty() ? no_block : range.successors[0];
  const Instruction& last = instructions_[range.end - 1];
  if (range.successors.size() > 2 || range.targets.size() != 1 || !last.guarded()) return range.successors[0];
  const std::uint32_t target = range.targets[0];
  const std::uint32_t next = range.fall_through;
  Guard opposite = last.guard;
  opposite.negated = !opposite.negated;
  if (is_likely(last.guard) != is_likely(opposite)) return is_likely(last.guard) ? target : next;
  if (is_short_end(target) != is_short_end(next)) return is_short_end(target) ? next : target;
  // A body that can be gone around is gone into.
  return target == function_.analyses->post_dominators()[block] ? next : target;
}

bool LikelyWays::has_reason(std::uint32_t block) const {
  const BasicBlock& range = graph_.blocks[block];
  if (range.successors.size() < 2) return true;
  const Instruction& last = instructions_[range.end - 1];
  if (range.successors.size() > 2 || range.targets.size() != 1 || !last.guarded()) return false;
  Guard opposite = last.guard;
  opposite.negated = !opposite.negated;
  if (is_likely(last.guard) != is_likely(opposite)) return true;
  return is_short_end(range.targets[0]) != is_short_end(range.fall_through) &&
         is_within_bounds(block, way_on(block));
}

std::map<std::uint32_t, std::uint32_t> LikelyWays::path() const {
  std::map<std::uint32_t, std::uint32_t> path;
  std::uint32_t block = 0;
  while (block != no_block && !path.contains(block)) {
    std::uint32_t next = way_on(block);
    if (path.contains(next)) {
      // Around a loop once is enough.
      for (const std::uint32_t other : graph_.blocks[block].successors) {
        if (!path.contains(other)) next = other;
      }
    }
    path.emplace(block, next);
    block = next;
  }
  return path;
}

bool LikelyWays::is_short_end(std::uint32_t block) const {
  return block != no_block && graph_.blocks[block].successors.empty() &&
         graph_.blocks[block].size() <= short_end;
}

bool LikelyWays::needs_equality(std::string_view predicate, bool wanted, int depth) const {
  const Instruction* made = definition_of(predicate);
  if (made == nullptr || depth == 0) return true;
  if (made->opcode.starts_with("setp.eq.") || made->opcode.starts_with("setp.ne.")) {
    return made->operands.size() != 3 || made->opcode.starts_with("setp.eq.") == wanted;
  }
  if (made->opcode.starts_with("setp.")) return made->operands.size() != 3;
  if (made->opcode == "not.pred" && made->operands.size() == 2)
    return needs_equality(made->operands[1].name, wanted == made->operands[1].negated, depth - 1);
  const bool is_or = made->opcode == "or.pred";
  if ((!is_or && made->opcode != "and.pred") || made->operands.size() != 3) return true;
  const auto needs = [&](const Operand& part) {
    return needs_equality(part.name, wanted != part.negated, depth - 1);
  };
  const bool first = needs(made->operands[1]);
  const bool second = needs(made->operands[2]);
  return is_or == wanted ? first && second : first || second;
}

const Instruction* LikelyWays::definition_of(std::string_view predicate) const {
  const auto found = definitions_.find(predicate);
  return found == definitions_.end() ? nullptr : found->second;
}

}  // namespace lynxpp::ptx
