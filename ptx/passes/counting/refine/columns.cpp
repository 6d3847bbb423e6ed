#include "ptx/passes/counting/refine/columns.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ptx/passes/counting/draft.h"

namespace lynxpp::ptx {
namespace {

constexpr std::size_t most_terms = 20'000'000;  // visited terms of the system, for all columns together

/// Requires an acyclic system. The columns are those before later changes of the system.
LinearColumns columns_of(PlanDraft& plan) {
  std::vector<LinearColumns::Use> uses;
  for (const CountUse& use : plan.request.uses)
    uses.push_back({plan.variable_of(use.quantity), use.sum, use.factor});
  return {plan.system.solve().value(), uses, most_terms};
}

/// Counters of one function with the same program points.
using Sharing = std::vector<std::size_t>;
using Meaning = std::vector<std::pair<CounterKind, LinearColumns::Column>>;

class FunctionMerge {
 public:
  FunctionMerge(PlanDraft& plan, FunctionDraft& draft, LinearColumns& columns)
      : plan_(plan), counters_(draft.counters), columns_(columns) {}

  void run() {
    std::map<std::pair<bool, std::vector<Increment>>, Sharing> groups;
    for (std::size_t i = 0; i < counters_.size(); ++i) {
      const CounterDraft& draft = counters_[i];
      const bool can_merge = !draft.amounts_to(Increment::Amount::lane_maximum) &&
                             !draft.amounts_to(Increment::Amount::surplus) &&
                             draft.increments[0].condition.kind != Condition::Kind::none_takes;
      if (can_merge) groups[{draft.kind == CounterKind::elected, draft.increments}].push_back(i);
    }
    std::map<Meaning, std::vector<Sharing>> equal;
    for (auto& [key, group] : groups) {
      std::vector<std::pair<Meaning::value_type, std::size_t>> meanings;
      for (const std::size_t index : group) {
        std::optional<LinearColumns::Column> column = columns_.column_of(counters_[index].variable);
        if (!column) return;
        meanings.emplace_back(Meaning::value_type{counters_[index].kind, std::move(*column)}, index);
      }
      std::ranges::sort(meanings);
      Meaning meaning;
      Sharing sorted;
      for (auto& [each, index] : meanings) {
        meaning.push_back(std::move(each));
        sorted.push_back(index);
      }
      equal[std::move(meaning)].push_back(std::move(sorted));
    }
    std::vector<bool> gone(counters_.size());
    for (const auto& [meaning, members] : equal) merge(members, gone);
    std::size_t next = 0;
    std::erase_if(counters_, [&](const CounterDraft&) { return bool{gone[next++]}; });
  }

 private:
  /// A counter with at most one increment is a bit, which is cheaper than a register.
  void merge(const std::vector<Sharing>& groups, std::vector<bool>& gone) {
    const auto repeats = [&](const Sharing& group) { return counters_[group.front()].repeats; };
    if (std::ranges::none_of(groups, repeats)) return;
    for (std::size_t member = 0; member < groups.front().size(); ++member) {
      CounterDraft& one = counters_[groups.front()[member]];
      for (std::size_t i = 1; i < groups.size(); ++i) {
        const CounterDraft& other = counters_[groups[i][member]];
        one.increments.insert(one.increments.end(), other.increments.begin(), other.increments.end());
        one.weight += other.weight;
        one.repeats = true;
        gone[groups[i][member]] = true;
        plan_.system.redefine(other.variable, {});
      }
      std::ranges::sort(one.increments);
    }
  }

  PlanDraft& plan_;
  std::vector<CounterDraft>& counters_;
  LinearColumns& columns_;
};

}  // namespace

void drop_unused_counters(PlanDraft& plan) {
  LinearColumns columns = columns_of(plan);
  for (FunctionDraft& function : plan.functions) {
    std::erase_if(function.counters, [&](const CounterDraft& counter) {
      const std::optional<LinearColumns::Column> column = columns.column_of(counter.variable);
      if (!column || !column->empty()) return false;
      plan.system.redefine(counter.variable, {});
      return true;
    });
  }
}

void merge_equal_counters(PlanDraft& plan) {
  LinearColumns columns = columns_of(plan);
  for (FunctionDraft& function : plan.functions) FunctionMerge(plan, function, columns).run();
}

}  // namespace lynxpp::ptx
