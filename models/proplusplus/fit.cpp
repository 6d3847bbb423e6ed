#include "models/proplusplus/fit.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace lynxpp::models::proplusplus {
namespace {

/// Criteria are in [0, 1]: smaller differences are not significant, but a regression would assign them a
/// dominating weight.
constexpr double same_criterion = 0.01;

/// Implementations of one primitive.
struct Group {
  std::vector<const Implementation*> members;
  std::vector<double> speeds;  ///< fastest time / each member's time
  PerCriterion<double> mean;
  double mean_speed = 0;
};

using Groups = std::vector<Group>;

double value_of(const Implementation& implementation, std::size_t criterion) {
  return implementation.criteria.values[criterion].value_or(0);
}

bool is_complete(const Implementation& implementation) {
  return implementation.seconds > 0 && std::ranges::all_of(implementation.criteria.values,
                                                           [](const auto& each) { return each.has_value(); });
}

/// Groups the primitives with at least two implementations, in the order of their names.
Groups groups_of(std::span<const Implementation> implementations) {
  std::map<std::string, Group> by_name;
  for (const Implementation& each : implementations) {
    if (is_complete(each)) by_name[each.primitive].members.push_back(&each);
  }
  Groups groups;
  for (auto& [name, group] : by_name) {
    if (group.members.size() < 2) continue;
    const auto fastest = std::ranges::min_element(group.members, {}, &Implementation::seconds);
    const auto count = static_cast<double>(group.members.size());
    for (const Implementation* each : group.members) {
      group.speeds.push_back((*fastest)->seconds / each->seconds);
      group.mean_speed += group.speeds.back() / count;
      for (std::size_t i = 0; i < criterion_count; ++i) group.mean.values[i] += value_of(*each, i) / count;
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

/// Returns the criteria that differ between implementations of a primitive.
std::vector<std::size_t> varying(const Groups& groups) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < criterion_count; ++i) {
    const bool varies = std::ranges::any_of(groups, [&](const Group& group) {
      return std::ranges::any_of(group.members, [&](const Implementation* each) {
        return std::abs(value_of(*each, i) - group.mean.values[i]) > same_criterion;
      });
    });
    if (varies) found.push_back(i);
  }
  return found;
}

/// Returns the non-negative coefficients with the least squares, by coordinate descent. Differences from the
/// primitives' means are fitted: values common to all implementations of a primitive cancel.
PerCriterion<double> solve(const Groups& groups, const std::vector<std::size_t>& candidates) {
  constexpr int most_rounds = 100000;
  constexpr double converged = 1e-13;
  PerCriterion<PerCriterion<double>> products;
  PerCriterion<double> targets, coefficients;
  for (const Group& group : groups) {
    for (std::size_t m = 0; m < group.members.size(); ++m) {
      const auto difference = [&](std::size_t i) {
        return value_of(*group.members[m], i) - group.mean.values[i];
      };
      for (const std::size_t i : candidates) {
        targets.values[i] += difference(i) * (group.speeds[m] - group.mean_speed);
        for (const std::size_t j : candidates) products.values[i].values[j] += difference(i) * difference(j);
      }
    }
  }
  for (int round = 0; round < most_rounds; ++round) {
    double changed = 0;
    for (const std::size_t i : candidates) {
      if (products.values[i].values[i] == 0) continue;  // it varies in other primitives only
      double slope = targets.values[i];
      for (const std::size_t j : candidates) slope -= products.values[i].values[j] * coefficients.values[j];
      const double before = coefficients.values[i];
      coefficients.values[i] = std::max(0.0, before + slope / products.values[i].values[i]);
      changed = std::max(changed, std::abs(coefficients.values[i] - before));
    }
    if (changed < converged) break;
  }
  return coefficients;
}

double predicted(const Group& group, std::size_t member, const PerCriterion<double>& coefficients) {
  double sum = group.mean_speed;
  for (std::size_t i = 0; i < criterion_count; ++i)
    sum += coefficients.values[i] * (value_of(*group.members[member], i) - group.mean.values[i]);
  return sum;
}

Ordering order_of(const Group& group, const PerCriterion<double>& coefficients) {
  std::vector<double> qualities;
  for (std::size_t m = 0; m < group.members.size(); ++m)
    qualities.push_back(predicted(group, m, coefficients));
  return ordering_of(qualities, group.speeds);
}

void add(const Ordering& each, Ordering& sum) {
  sum.pairs += each.pairs;
  sum.right += each.right;
}

/// Squares of the errors of predictions, and of the differences from the primitives' means.
struct Squares {
  double missed = 0, total = 0;
  double r_squared() const { return total > 0 ? 1 - missed / total : 0; }
};

void add_errors(const Group& group, const PerCriterion<double>& coefficients, Squares& squares) {
  for (std::size_t m = 0; m < group.members.size(); ++m) {
    squares.missed += std::pow(group.speeds[m] - predicted(group, m, coefficients), 2);
    squares.total += std::pow(group.speeds[m] - group.mean_speed, 2);
  }
}

void cross_validate(const Groups& groups, const std::vector<std::size_t>& candidates, WeightFit& fit) {
  Squares squares;
  std::vector<Ordering> orders;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    Groups others = groups;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(g));
    const PerCriterion<double> coefficients = solve(others, candidates);
    orders.push_back(order_of(groups[g], coefficients));
    add_errors(groups[g], coefficients, squares);
  }
  fit.validated = evidence_of("", orders);
  fit.validated_rmse = std::sqrt(squares.missed / static_cast<double>(fit.used.size()));
  fit.validated_r_squared = squares.r_squared();
}

/// Criteria that do not vary keep the paper's weight; the coefficients share the rest of the paper's sum.
void weigh(const std::vector<std::size_t>& candidates, const PerCriterion<double>& coefficients,
           WeightFit& fit) {
  const Weights papers = paper_weights();
  double shared = 0, sum = 0;
  for (std::size_t i = 0; i < criterion_count; ++i) {
    fit.criteria.values[i] = {FittedCriterion::Outcome::same, papers.of.values[i], 0};
    if (std::ranges::count(candidates, i) == 0) continue;
    shared += papers.of.values[i];
    sum += coefficients.values[i];
  }
  for (const std::size_t i : candidates) {
    const double coefficient = coefficients.values[i];
    fit.criteria.values[i] = {
        coefficient > 0 ? FittedCriterion::Outcome::fitted : FittedCriterion::Outcome::against,
        shared * coefficient / sum, coefficient};
  }
}

}  // namespace

Weights WeightFit::weights(std::string source) const {
  Weights result{source, {}, validated};
  result.evidence->source = std::move(source);
  for (std::size_t i = 0; i < criterion_count; ++i) result.of.values[i] = criteria.values[i].weight;
  return result;
}

Result<WeightFit> fit_weights(std::span<const Implementation> implementations) {
  constexpr std::size_t least_primitives = 3;
  const Groups groups = groups_of(implementations);
  const std::vector<std::size_t> candidates = varying(groups);
  WeightFit fit;
  fit.primitives = groups.size();
  for (const Group& group : groups) {
    for (const Implementation* each : group.members) fit.used.push_back(*each);
  }
  fit.left_out = implementations.size() - fit.used.size();
  const std::size_t needed = groups.size() + candidates.size() + 1;
  if (groups.size() < least_primitives || fit.used.size() < needed)
    return failure("too few implementations to fit weights to: " + std::to_string(fit.used.size()) + " of " +
                       std::to_string(groups.size()) + " primitives that have several",
                   "ranges PRIMITIVE/IMPLEMENTATION of three primitives at least, and " +
                       std::to_string(candidates.size() + 1) + " more implementations than primitives");
  const PerCriterion<double> coefficients = solve(groups, candidates);
  if (std::ranges::all_of(coefficients.values, [](double each) { return each <= 0; }))
    return failure("no criterion correlates with the speed of these implementations",
                   "do the implementations of a primitive do the same work?");
  weigh(candidates, coefficients, fit);
  Squares squares;
  for (const Group& group : groups) {
    add_errors(group, coefficients, squares);
    add(order_of(group, coefficients), fit.fitted);
    add(order_of(group, paper_weights().of), fit.papers);
  }
  fit.r_squared = squares.r_squared();
  cross_validate(groups, candidates, fit);
  return fit;
}

}  // namespace lynxpp::models::proplusplus
