// Which way most warps take at a branch: a guess that costs time where it is wrong, and nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "ptx/passes/counting/flow/flow.h"

namespace lynxpp::ptx {

class LikelyWays {
 public:
  /// Both outlive this.
  explicit LikelyWays(const CountedFunction& function);

  /// Bounds of an index over all blocks: most are within, whichever way that is. What only depends on the
  /// thread's place in its block often chooses one warp. Precondition: `block` ends in a guarded branch.
  bool is_within_bounds(std::uint32_t block, std::uint32_t target) const;
  /// Whether the guard holds without two numbers being equal, as far as the only definition of its predicate
  /// tells.
  bool is_likely(const Guard& guard) const {
    return !needs_equality(guard.predicate, !guard.negated, deepest);
  }
  /// In a loop, of a condition: the body that nearly all threads are thought to enter, by this branch alone,
  /// and that the others go around: an index of theirs is within its bounds. no_block: there is none.
  std::uint32_t body_within_bounds(std::uint32_t block) const;
  /// Where the block leads on: one of its successors, no_block where it has none.
  std::uint32_t way_on(std::uint32_t block) const;
  /// Whether that is more than a habit: the other way needs two numbers to be equal, or leads out of bounds.
  bool has_reason(std::uint32_t block) const;
  /// Per block where it leads on, for those that a thread comes to that goes on like that from the entry (of
  /// loops, once around); elsewhere nothing.
  std::map<std::uint32_t, std::uint32_t> path() const;

 private:
  static constexpr int deepest = 8;  ///< conditions that are made of conditions

  bool needs_equality(std::string_view predicate, bool wanted, int depth) const;
  bool is_short_end(std::uint32_t block) const;
  const Instruction* definition_of(std::string_view predicate) const;

  const CountedFunction& function_;
  const ControlFlowGraph& graph_;
  const std::vector<Instruction>& instructions_;
  std::map<std::string_view, const Instruction*> definitions_;  ///< of predicates; null: several, or guarded
};

}  // namespace lynxpp::ptx
