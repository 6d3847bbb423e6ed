#include "ptx/passes/counting/refine/expected_path.h"

#include <algorithm>

namespace lynxpp::ptx {

ExpectedPath::ExpectedPath(const CountedFunction& function, const EdgeSites& sites)
    : function_(function),
      next_(function.graph().blocks.size(), no_block),
      is_on_path_(function.graph().blocks.size()) {
  const std::vector<std::uint32_t>& post_dominators = function.analyses->post_dominators();
  std::uint32_t block = 0;
  while (block != no_block && !is_on_path_[block]) {
    is_on_path_[block] = true;
    const BasicBlock& range = function.graph().blocks[block];
    const bool tests_bounds = sites.targets(block).size() == 2 && range.fall_through != no_block &&
                              sites.likely().is_within_bounds(block, range.fall_through);
    if (sites.targets(block).size() == 1 && !range.successors.empty()) {
      next_[block] = range.successors.front();
    } else {
      next_[block] = tests_bounds ? range.fall_through : post_dominators[block];
    }
    block = next_[block];
  }
}

bool ExpectedPath::includes(const Increment& increment) const {
  const ProgramPoint& point = increment.point;
  if (!is_on_path_[point.block]) return false;
  if (increment.amount != Increment::Amount::one || increment.condition.kind != Condition::Kind::always)
    return false;
  return point.kind != ProgramPoint::Kind::after ||
         next_[point.block] == function_.graph().blocks[point.block].fall_through;
}

}  // namespace lynxpp::ptx
