#include "models/statistics/correlation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lynxpp::models::statistics {
namespace {

struct Centred {
  std::vector<double> values;
  double norm = 0;
};

Centred centred(std::span<const double> values) {
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  Centred result{{values.begin(), values.end()}, 0};
  for (double& value : result.values) {
    value -= mean;
    result.norm = std::hypot(result.norm, value);
  }
  return result;
}

bool all_finite(std::span<const double> values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

bool varies(std::span<const double> values) {
  return std::ranges::any_of(values, [&](double value) { return value != values.front(); });
}

Status check_pair(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size())
    return failure("a correlation of series of different lengths: " + std::to_string(a.size()) + " and " +
                   std::to_string(b.size()) + " points");
  if (a.size() < 2) return failure("a correlation needs at least two points");
  if (!all_finite(a) || !all_finite(b)) return failure("a correlation of numbers that are not finite");
  if (!varies(a) || !varies(b)) return failure("there is no correlation with a series that does not vary");
  return success();
}

}  // namespace

Result<double> pearson(std::span<const double> a, std::span<const double> b) {
  if (Status checked = check_pair(a, b); !checked) return checked.error();
  const Centred x = centred(a), y = centred(b);
  double product = 0;
  for (std::size_t i = 0; i < a.size(); ++i) product += (x.values[i] / x.norm) * (y.values[i] / y.norm);
  return std::clamp(product, -1.0, 1.0);
}

std::vector<double> ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t index) { return values[index]; });
  std::vector<double> result(values.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    // The mean of the ranks begin + 1 to end.
    for (std::size_t i = begin; i < end; ++i) result[order[i]] = static_cast<double>(begin + 1 + end) / 2;
  }
  return result;
}

Result<double> spearman(std::span<const double> a, std::span<const double> b) {
  if (Status checked = check_pair(a, b); !checked) return checked.error();
  return pearson(ranks(a), ranks(b));
}

Result<double> geometric_mean(std::span<const double> values) {
  if (values.empty()) return failure("a geometric mean of no values");
  double sum = 0;
  for (const double value : values) {
    if (!std::isfinite(value) || value <= 0)
      return failure("a geometric mean needs values above 0; one is " + std::to_string(value));
    sum += std::log(value);
  }
  return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace lynxpp::models::statistics
