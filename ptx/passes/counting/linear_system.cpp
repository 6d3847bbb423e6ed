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

bool LinearSystem::order() {
  enum class State : std::uint8_t { fresh, open, done };
  std::vector<State> states(size(), State::fresh);
  struct Visit {
    VariableId variable;
    std::size_t next;  // index of the next term to visit
  };
  std::vector<Visit> pending;
  order_.clear();
  position_.assign(size(), 0);
  for (VariableId root = 0; root < size(); ++root) {
    if (states[root] == State::fresh) pending.push_back({root, 0});
    while (!pending.empty()) {
      Visit& visit = pending.back();
      const std::optional<LinearForm>& form = definitions_[visit.variable];
      states[visit.variable] = State::open;
      if (!form || visit.next == form->size()) {
        states[visit.variable] = State::done;
        if (form) {
          order_.push_back(visit.variable);
          position_[visit.variable] = static_cast<std::uint32_t>(order_.size());
        }
        pending.pop_back();
        continue;
      }
      const VariableId part = (*form)[visit.next++].variable;
      if (states[part] == State::open) return false;
      if (states[part] == State::fresh) pending.push_back({part, 0});
    }
  }
  return true;
}

void LinearSystem::evaluate(std::vector<std::uint64_t>& values) const {
  for (const VariableId variable : order_) {
    std::uint64_t sum = 0;
    for (const LinearTerm& term : definition(variable)) sum += term.factor * values[term.variable];
    values[variable] = sum;
  }
}

LinearColumns::LinearColumns(const LinearSystem& system, std::span<const Use> uses, std::size_t budget)
    : system_(system),
      wholes_of_(system.size()),
      sums_of_(system.size()),
      growth_(system.size()),
      budget_(budget) {
  for (const VariableId whole : system.order_) {
    for (const LinearTerm& term : system.definition(whole))
      wholes_of_[term.variable].push_back({whole, term.factor});
  }
  for (const Use& use : uses) sums_of_[use.variable].push_back({use.sum, use.factor});
}

std::optional<LinearColumns::Column> LinearColumns::column_of(VariableId measured) {
  // Propagates the coefficient through the definitions in order, so that every operand is final before its
  // uses.
  using Place = std::pair<std::uint32_t, VariableId>;
  std::priority_queue<Place, std::vector<Place>, std::greater<>> pending;
  std::map<std::uint32_t, std::uint64_t> sums;
  growth_[measured] = 1;
  pending.emplace(0, measured);
  while (!pending.empty()) {
    const VariableId variable = pending.top().second;
    pending.pop();
    const std::uint64_t growth = std::exchange(growth_[variable], 0);
    if (growth == 0) continue;  // cancelled out, or a duplicate entry
    const std::size_t terms = 1 + wholes_of_[variable].size() + sums_of_[variable].size();
    if (budget_ < terms) {
      budget_ = 0;
      for (; !pending.empty(); pending.pop()) growth_[pending.top().second] = 0;
      return std::nullopt;
    }
    budget_ -= terms;
    for (const Entry& entry : sums_of_[variable]) sums[entry.sum] += entry.factor * growth;
    for (const auto& [whole, factor] : wholes_of_[variable]) {
      if (growth_[whole] == 0) pending.emplace(system_.position_[whole], whole);
      growth_[whole] += factor * growth;
    }
  }
  Column column;
  for (const auto& [sum, factor] : sums) {
    if (factor != 0) column.push_back({sum, factor});
  }
  return column;
}

}  // namespace lynxpp::ptx
