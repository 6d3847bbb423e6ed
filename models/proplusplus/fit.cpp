#include "models/proplusplus/fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "models/statistics/regression.h"

namespace lynxpp::models::proplusplus {
namespace {

using statistics::Regression;
using statistics::Variable;

/// Criteria are in [0, 1]: smaller differences are not significant, but a regression would assign them a
/// dominating weight.
constexpr double same_criterion = 0.01;
/// Relative difference caused by rounding.
constexpr double same_time = 1e-9;
constexpr double significance = 0.05;

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

/// Differences from the primitive's mean: values common to all its implementations cancel.
struct Centred {
  std::vector<Variable> variables;  ///< one per requested criterion
  std::vector<double> speeds;
};

Centred centred(const Groups& groups, const std::vector<std::size_t>& criteria) {
  Centred data;
  for (const std::size_t each : criteria)
    data.variables.push_back({symbol_of(static_cast<Criterion>(each)), {}});
  for (const Group& group : groups) {
    for (std::size_t m = 0; m < group.members.size(); ++m) {
      data.speeds.push_back(group.speeds[m] - group.mean_speed);
      for (std::size_t j = 0; j < criteria.size(); ++j)
        data.variables[j].values.push_back(value_of(*group.members[m], criteria[j]) -
                                           group.mean.values[criteria[j]]);
    }
  }
  return data;
}

/// Least squares without negative or insignificant coefficients.
struct Best {
  std::vector<std::size_t> kept;  ///< criteria
  PerCriterion<double> coefficients;
  double r_squared = 0;
};

Best best_of(const Groups& groups, const std::vector<std::size_t>& candidates) {
  const Centred all = centred(groups, candidates);
  Best best;
  for (std::size_t mask = 1; mask < (std::size_t{1} << candidates.size()); ++mask) {
    std::vector<Variable> some;
    std::vector<std::size_t> kept;
    for (std::size_t j = 0; j < candidates.size(); ++j) {
      if ((mask >> j & 1) == 0) continue;
      some.push_back(all.variables[j]);
      kept.push_back(candidates[j]);
    }
    const Result<Regression> fit = statistics::regress(some, all.speeds);
    // Sets that contain one of several collinear criteria fit equally well.
    if (!fit || fit->r_squared <= best.r_squared) continue;
    const bool all_count = std::ranges::all_of(
        fit->coefficients, [](const auto& each) { return each.value > 0 && each.p <= significance; });
    if (!all_count) continue;
    best = {kept, {}, fit->r_squared};
    for (std::size_t j = 0; j < kept.size(); ++j)
      best.coefficients.values[kept[j]] = fit->coefficients[j].value;
  }
  return best;
}

double predicted(const Group& group, std::size_t member, const PerCriterion<double>& coefficients) {
  double sum = group.mean_speed;
  for (std::size_t i = 0; i < criterion_count; ++i)
    sum += coefficients.values[i] * (value_of(*group.members[member], i) - group.mean.values[i]);
  return sum;
}

void add_pairs(const Group& group, const PerCriterion<double>& coefficients, Ordering& ordering) {
  for (std::size_t a = 0; a < group.members.size(); ++a) {
    for (std::size_t b = a + 1; b < group.members.size(); ++b) {
      const double faster = group.speeds[a] - group.speeds[b];
      if (std::abs(faster) <= same_time) continue;
      const double better = predicted(group, a, coefficients) - predicted(group, b, coefficients);
      ++ordering.pairs;
      if (faster * better > 0) ++ordering.right;
    }
  }
}

void cross_validate(const Groups& groups, const std::vector<std::size_t>& candidates, WeightFit& fit) {
  double missed = 0, total = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    Groups others = groups;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(g));
    const Best best = best_of(others, candidates);
    add_pairs(groups[g], best.coefficients, fit.validated);
    for (std::size_t m = 0; m < groups[g].members.size(); ++m) {
      const double speed = groups[g].speeds[m];
      missed += std::pow(speed - predicted(groups[g], m, best.coefficients), 2);
      total += std::pow(speed - groups[g].mean_speed, 2);
    }
  }
  fit.validated_rmse = std::sqrt(missed / static_cast<double>(fit.used.size()));
  fit.validated_r_squared = total > 0 ? 1 - missed / total : 0;
}

/// Computes standard errors: over the retained criteria and the primitives' intercepts.
Status judge(const Groups& groups, const Best& best, WeightFit& fit) {
  std::vector<Variable> variables;
  std::vector<double> speeds;
  for (const std::size_t each : best.kept) variables.push_back({symbol_of(static_cast<Criterion>(each)), {}});
  for (std::size_t g = 1; g < groups.size(); ++g)
    variables.push_back({groups[g].members.front()->primitive, {}});
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (std::size_t m = 0; m < groups[g].members.size(); ++m) {
      speeds.push_back(groups[g].speeds[m]);
      for (std::size_t j = 0; j < best.kept.size(); ++j)
        variables[j].values.push_back(value_of(*groups[g].members[m], best.kept[j]));
      for (std::size_t other = 1; other < groups.size(); ++other)
        variables[best.kept.size() + other - 1].values.push_back(other == g ? 1 : 0);
    }
  }
  const Result<Regression> regression = statistics::regress(variables, speeds);
  if (!regression) return regression.error();
  for (std::size_t j = 0; j < best.kept.size(); ++j) {
    FittedCriterion& criterion = fit.criteria.values[best.kept[j]];
    criterion.coefficient = regression->coefficients[j].value;
    criterion.standard_error = regression->coefficients[j].standard_error;
    criterion.p = regression->coefficients[j].p;
  }
  return success();
}

/// Criteria that do not vary keep the paper's weight; the coefficients share the rest of the paper's sum.
void weigh(const std::vector<std::size_t>& candidates, const Best& best, WeightFit& fit) {
  const Weights papers = paper_weights();
  double shared = 0, sum = 0;
  for (std::size_t i = 0; i < criterion_count; ++i) {
    FittedCriterion& criterion = fit.criteria.values[i];
    criterion.outcome = FittedCriterion::Outcome::same;
    criterion.weight = papers.of.values[i];
    if (std::ranges::count(candidates, i) == 0) continue;
    shared += papers.of.values[i];
    sum += best.coefficients.values[i];
    criterion.outcome = FittedCriterion::Outcome::against;
  }
  for (const std::size_t i : candidates)
    fit.criteria.values[i].weight = shared * best.coefficients.values[i] / sum;
  for (const std::size_t i : best.kept) fit.criteria.values[i].outcome = FittedCriterion::Outcome::fitted;
}

}  // namespace

Weights WeightFit::weights(std::string source) const {
  Weights result{std::move(source), {}};
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
  const Best best = best_of(groups, candidates);
  if (best.kept.empty())
    return failure("no criterion correlates with the speed of these implementations",
                   "do the implementations of a primitive do the same work?");
  fit.r_squared = best.r_squared;
  if (Status judged = judge(groups, best, fit); !judged) return judged.error();
  weigh(candidates, best, fit);
  for (const Group& group : groups) {
    add_pairs(group, best.coefficients, fit.fitted);
    add_pairs(group, paper_weights().of, fit.papers);
  }
  cross_validate(groups, candidates, fit);
  return fit;
}

}  // namespace lynxpp::models::proplusplus
