// Predicts the successor of a branch that most warps take. A wrong guess costs only time.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "ptx/passes/counting/flow/program.h"

namespace lynxpp::ptx {

class LikelyBranches {
 public:
  /// The function outlives this.
  explicit LikelyBranches(const CountedFunction& function);

  /// Whether threads go from `block` to `target` (or exit, with EdgePlaces::outside) only when two numbers
  /// are equal, and otherwise in any case. Precondition: `block` has two targets.
  bool needs_equality(std::uint32_t block, std::uint32_t target) const;
  /// The branch at the block's end tests the bounds of an index over all thread blocks, and `target` is where
  /// those within go, which are most. What only depends on the thread's place in its block often chooses one
  /// warp.
  bool is_within_bounds(std::uint32_t block, std::uint32_t target) const;

 private:
  static constexpr int deepest = 8;  ///< conditions that are made of conditions

  /// Whether the guard holds without two numbers being equal, as far as the only definition of its predicate
  /// tells.
  bool is_likely(const Guard& guard) const {
    return !needs_equality(guard.predicate, !guard.negated, deepest);
  }
  bool needs_equality(std::string_view predicate, bool wanted, int depth) const;

  const CountedFunction& function_;
  const ControlFlowGraph& graph_;
  std::map<std::string_view, const Instruction*> definitions_;  ///< of predicates; null: several, or guarded
};

}  // namespace lynxpp::ptx
