// How strongly two series go together.
//
//   const Result<double> agreement = spearman(predicted, measured);   // 1: the same order
#pragma once

#include <span>
#include <vector>

#include "support/result.h"

namespace lynxpp::models::statistics {

/// Of the values, from -1 to 1. Fails on fewer than two points, different lengths, numbers that are not
/// finite, and a series that does not vary.
Result<double> pearson(std::span<const double> a, std::span<const double> b);

/// Of the ranks; equal values share the mean of theirs. Fails as pearson() does.
Result<double> spearman(std::span<const double> a, std::span<const double> b);

/// Ranks from 1; equal values share the mean of theirs.
std::vector<double> ranks(std::span<const double> values);

/// exp(mean(log(values))); fails without values and on values that are not above 0.
Result<double> geometric_mean(std::span<const double> values);

}  // namespace lynxpp::models::statistics
