// Predicts the successor that most warps take at a branch. A wrong prediction costs only time.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "ptx/passes/counting/flow/program.h"

namespace lynxpp::ptx {

class LikelyBranches {
 public:
  /// `function` must outlive this object.
  explicit LikelyBranches(const CountedFunction& function);

  /// True if threads go from `block` to `target` (or exit, with EdgeSites::outside) only if two values are
  /// equal, while the other edge requires no equality. Requires that `block` has two targets.
  bool needs_equality(std::uint32_t block, std::uint32_t target) const;
  /// True if the branch at the block's end tests the bounds of an index that varies over thread blocks, and
  /// `target` is the in-bounds side, which most threads take. Excludes tests of the thread's index within its
  /// block alone, which often select one warp.
  bool is_within_bounds(std::uint32_t block, std::uint32_t target) const;

 private:
  static constexpr int deepest = 8;  ///< maximum nesting of predicate expressions

  /// True if the guard can hold without two values being equal, judged by the single definition of its
  /// predicate.
  bool is_likely(const Guard& guard) const {
    return !needs_equality(guard.predicate, !guard.negated, deepest);
  }
  bool needs_equality(std::string_view predicate, bool wanted, int depth) const;

  const CountedFunction& function_;
  const ControlFlowGraph& graph_;
  std::map<std::string_view, const Instruction*> definitions_;  ///< of predicates; null: several or guarded
};

}  // namespace lynxpp::ptx
