#include "ptx/passes/counting/refine/expected.h"

#include <algorithm>

#include "ptx/passes/counting/flow/likely_ways.h"

namespace lynxpp::ptx {
namespace {

class ExpectedPath {
 public:
  explicit ExpectedPath(const CountedFunction& kernel)
      : graph_(kernel.unit->graph),
        instructions_(kernel.unit->function->body->instructions),
        ways_(kernel),
        path_(ways_.path()) {}

  /// Whether a thread on the path raises a counter there; of a division, whether the guard holds for it.
  bool raises(const CountPlace& place) const {
    if (place.kind == CountPlace::Kind::entry) return true;
    const auto found = path_.find(place.block);
    if (found == path_.end()) return false;
    const BasicBlock& block = graph_.blocks[place.block];
    switch (place.kind) {
      case CountPlace::Kind::block_start:
      case CountPlace::Kind::block_end: return true;
      case CountPlace::Kind::fall_through: return found->second == block.fall_through;
      case CountPlace::Kind::switch_target: return found->second == place.target;
      case CountPlace::Kind::guard_holds:
      case CountPlace::Kind::divides:
        if (place.instruction + 1 == block.end && block.targets.size() == 1)
          return found->second == block.targets[0];
        return ways_.is_likely(instructions_[place.instruction].guard);
      default: return false;
    }
  }

  /// Whether there is a reason for each way that it takes.
  bool has_reasons() const {
    return std::ranges::all_of(path_, [&](const auto& step) { return ways_.has_reason(step.first); });
  }

  bool passes(const CountPlace& place) const { return path_.contains(place.block); }

  /// Whether a thread on the path may raise a number there.
  bool may_raise(const CountPlace& place) const {
    const auto found = path_.find(place.block);
    switch (place.kind) {
      case CountPlace::Kind::entry:
      case CountPlace::Kind::leaves_apart: return true;
      case CountPlace::Kind::divides: return false;
      case CountPlace::Kind::iterations: return found != path_.end();
      case CountPlace::Kind::bypass: return found != path_.end() && found->second != place.target;
      case CountPlace::Kind::vote: return found != path_.end() && found->second == place.target;
      default: return raises(place);
    }
  }

 private:
  const ControlFlowGraph& graph_;
  const std::vector<Instruction>& instructions_;
  const LikelyWays ways_;
  const std::map<std::uint32_t, std::uint32_t> path_;
};

bool is_given_away(const Counter& counter) {
  return counter.storage != Counter::Storage::memory && !counter.is_alike &&
         (counter.is_tally || !counter.places.empty());
}

}  // namespace

bool is_worth_expecting(const FunctionPlan& plan, const CountedFunction& kernel) {
  const auto is_given = [](const Counter& counter) { return !counter.places.empty(); };
  if (!std::ranges::any_of(plan.counters, is_given) ||
      std::ranges::any_of(plan.counters,
                          [&](const Counter& counter) { return is_given(counter) && counter.is_repeated; }))
    return false;
  const ExpectedPath path(kernel);
  return path.has_reasons() && std::ranges::any_of(plan.counters, [&](const Counter& counter) {
           return is_given(counter) && path.raises(counter.places[0]);
         });
}

void expect_bits(FunctionPlan& plan, const CountedFunction& kernel, std::vector<std::uint32_t>& order) {
  if (plan.bits >= most_bits) return;
  const ExpectedPath path(kernel);
  const auto may_be_raised = [&](const Counter& counter) {
    if (!is_given_away(counter) || counter.is_bit) return false;
    return counter.is_tally || counter.is_maximum() ||
           std::ranges::any_of(counter.places,
                               [&](const CountPlace& place) { return path.may_raise(place); });
  };
  if (std::ranges::any_of(plan.counters, may_be_raised)) return;
  bool is_any = false;
  for (Counter& counter : plan.counters) {
    if (!is_given_away(counter) || counter.is_tally || !counter.is_bit) continue;
    const CountPlace& place = counter.places[0];
    counter.is_expected = path.raises(place);
    counter.is_expected_not =
        counter.storage == Counter::Storage::both && !counter.is_expected && path.passes(place);
    is_any |= counter.is_expected || counter.is_expected_not;
  }
  if (!is_any) return;
  Counter exceptions;
  exceptions.counts_warps = true;
  exceptions.storage = Counter::Storage::any;
  exceptions.places = {{CountPlace::Kind::entry, 0, 0, 0}};
  exceptions.is_once = true;
  exceptions.is_bit = true;
  exceptions.bit = plan.bits++;
  exceptions.is_expected = true;
  plan.leaves_together = true;
  plan.exceptions = static_cast<std::uint32_t>(plan.counters.size());
  order.push_back(plan.exceptions);
  plan.counters.push_back(std::move(exceptions));
}

}  // namespace lynxpp::ptx
