#include "ptx/passes/counting/linear_system.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <utility>

namespace lynxpp::ptx {

VariableId LinearSystem::add(std::optional<LinearForm> definition) {
  definitions_.push_back(std::move(definition));
  return static_cast<VariableId>(definitions_.size() - 1);
}

std::optional<SolvedSystem> SolvedSystem::make(Definitions definitions) {
  enum class State : std::uint8_t { fresh, open, done };
  SolvedSystem solved;
  solved.definitions_ = std::move(definitions);
  solved.rank_.assign(solved.size(), 0);
  std::vector<State> states(solved.size(), State::fresh);
  struct Visit {
    VariableId variable;
    std::size_t next;  // index of the next term to visit
  };
  std::vector<Visit> pending;
  for (VariableId root = 0; root < solved.size(); ++root) {
    if (states[root] == State::fresh) pending.push_back({root, 0});
    while (!pending.empty()) {
      Visit& visit = pending.back();
      const std::optional<LinearForm>& form = solved.definitions_[visit.variable];
      states[visit.variable] = State::open;
      if (!form || visit.next == form->size()) {
        states[visit.variable] = State::done;
        if (form) {
          solved.order_.push_back(visit.variable);
          solved.rank_[visit.variable] = static_cast<std::uint32_t>(solved.order_.size());
        }
        pending.pop_back();
        continue;
      }
      const VariableId term = (*form)[visit.next++].variable;
      if (states[term] == State::open) return std::nullopt;
      if (states[term] == State::fresh) pending.push_back({term, 0});
    }
  }
  return solved;
}

void SolvedSystem::evaluate(std::vector<std::uint64_t>& values) const {
  for (const VariableId variable : order_) {
    std::uint64_t sum = 0;
    for (const LinearTerm& term : definition(variable)) sum += term.factor * values[term.variable];
    values[variable] = sum;
  }
}

LinearColumns::LinearColumns(SolvedSystem system, std::span<const Use> uses, std::size_t budget)
    : system_(std::move(system)),
      users_of_(system_.size()),
      sums_of_(system_.size()),
      growth_(system_.size()),
      budget_(budget) {
  for (const VariableId user : system_.order()) {
    for (const LinearTerm& term : system_.definition(user))
      users_of_[term.variable].push_back({user, term.factor});
  }
  for (const Use& use : uses) sums_of_[use.variable].push_back({use.sum, use.factor});
}

std::optional<LinearColumns::Column> LinearColumns::column_of(VariableId measured) {
  // Propagates the coefficient through the definitions in order, so that every operand is final before its
  // uses.
  using Ranked = std::pair<std::uint32_t, VariableId>;
  std::priority_queue<Ranked, std::vector<Ranked>, std::greater<>> pending;
  std::map<std::uint32_t, std::uint64_t> sums;
  growth_[measured] = 1;
  pending.emplace(0, measured);
  while (!pending.empty()) {
    const VariableId variable = pending.top().second;
    pending.pop();
    const std::uint64_t growth = std::exchange(growth_[variable], 0);
    if (growth == 0) continue;  // cancelled out, or a duplicate entry
    const std::size_t terms = 1 + users_of_[variable].size() + sums_of_[variable].size();
    if (budget_ < terms) {
      budget_ = 0;
      for (; !pending.empty(); pending.pop()) growth_[pending.top().second] = 0;
      return std::nullopt;
    }
    budget_ -= terms;
    for (const Entry& entry : sums_of_[variable]) sums[entry.sum] += entry.factor * growth;
    for (const auto& [user, factor] : users_of_[variable]) {
      if (growth_[user] == 0) pending.emplace(system_.rank(user), user);
      growth_[user] += factor * growth;
    }
  }
  Column column;
  for (const auto& [sum, factor] : sums) {
    if (factor != 0) column.push_back({sum, factor});
  }
  return column;
}

}  // namespace lynxpp::ptx
