// Correlation of two series.
//
//   const Result<double> agreement = spearman(predicted, measured);   // 1: the same order
#pragma once

#include <span>
#include <vector>

#include "support/result.h"

namespace lynxpp::models::statistics {

/// Returns the correlation of the values, from -1 to 1. Fails for fewer than two points, different lengths,
/// values that are not finite, and a constant series.
Result<double> pearson(std::span<const double> a, std::span<const double> b);

/// Returns the correlation of the ranks; equal values share their mean rank. Fails as pearson() does.
Result<double> spearman(std::span<const double> a, std::span<const double> b);

/// Returns ranks from 1; equal values share their mean rank.
std::vector<double> ranks(std::span<const double> values);

/// Returns exp(mean(log(values))); fails without values and for values that are not positive.
Result<double> geometric_mean(std::span<const double> values);

}  // namespace lynxpp::models::statistics
