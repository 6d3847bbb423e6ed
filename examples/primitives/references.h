// Sequential implementations that several files use for comparison.
#pragma once

#include <numeric>

#include "examples/primitives/primitives.h"

namespace primitives {

inline Value sum_of(const Problem& problem) {
  return std::accumulate(problem.values.begin(), problem.values.end(), Value{0});
}

inline Values sums_of_runs(const Problem& problem) {
  Values sums;
  for (std::size_t run = 0; run + 1 < problem.offsets.size(); ++run)
    sums.push_back(std::accumulate(problem.values.begin() + problem.offsets[run],
                                   problem.values.begin() + problem.offsets[run + 1], Value{0}));
  return sums;
}

inline Values inclusive_sums(const Problem& problem) {
  Values sums(problem.values.size());
  std::partial_sum(problem.values.begin(), problem.values.end(), sums.begin());
  return sums;
}

inline Values exclusive_sums(const Problem& problem) {
  Values sums;
  Value before = 0;
  for (const Value value : problem.values) {
    sums.push_back(before);
    before += value;
  }
  return sums;
}

/// Returns inclusive sums that restart with each run.
inline Values sums_within_runs(const Problem& problem) {
  Values sums;
  for (std::size_t i = 0; i < problem.values.size(); ++i) {
    const bool begins = i == 0 || problem.keys[i] != problem.keys[i - 1];
    sums.push_back(problem.values[i] + (begins ? 0 : sums.back()));
  }
  return sums;
}

/// Returns the run of each position: the result of a load-balancing search.
inline Values owners(const Problem& problem) {
  Values owners;
  for (std::size_t run = 0; run + 1 < problem.offsets.size(); ++run)
    owners.insert(owners.end(), problem.offsets[run + 1] - problem.offsets[run], static_cast<Value>(run));
  return owners;
}

/// Returns flagged values, followed by the others if `with_others`.
inline Values flagged(const Problem& problem, bool with_others) {
  Values chosen;
  for (const Value flag : {1u, 0u}) {
    if (flag == 0 && !with_others) break;
    for (std::size_t i = 0; i < problem.values.size(); ++i) {
      if (problem.flags[i] == flag) chosen.push_back(problem.values[i]);
    }
  }
  return chosen;
}

inline Values unique_keys(const Problem& problem) {
  Values keys = problem.keys;
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

inline Values sorted_values(const Problem& problem) {
  Values values = problem.values;
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace primitives
