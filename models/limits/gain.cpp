#include "models/limits/gain.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <random>

#include "support/check.h"

namespace lynxpp::models::limits {
namespace {

constexpr double confidence_tail = 0.025;
constexpr std::size_t resamples = 1000;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 != 0) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

std::vector<double> without_warm_up(std::span<const double> times) {
  const std::span<const double> used = times.size() > 1 ? times.subspan(1) : times;
  return {used.begin(), used.end()};
}

/// The median of the means of all pairs (Hodges and Lehmann). Unlike the median it cancels a drift that
/// alternates in sign.
double centre(const std::vector<double>& values) {
  std::vector<double> means;
  means.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i; j < values.size(); ++j) means.push_back((values[i] + values[j]) / 2);
  }
  return median(std::move(means));
}

/// Draws from.size() values with replacement.
void redraw(const std::vector<double>& from, std::mt19937_64& random, std::vector<double>& drawn) {
  drawn.clear();
  for (std::size_t i = 0; i < from.size(); ++i) drawn.push_back(from[random() % from.size()]);
}

struct Interval {
  double low = 0;
  double high = 0;
};

/// The expanded percentile interval (Hesterberg, "What Teachers Should Know About the Bootstrap", 2015),
/// which corrects the bootstrap's narrowness for few values.
Interval bootstrap(const std::vector<double>& differences, const std::vector<double>& native) {
  const auto count = static_cast<double>(differences.size());
  const boost::math::students_t student(count - 1);
  const double widened = boost::math::quantile(student, confidence_tail) * std::sqrt(count / (count - 1));
  const double tail = boost::math::cdf(boost::math::normal(), widened);
  std::mt19937_64 random(58);
  std::vector<double> gains, some_differences, some_native;
  for (std::size_t i = 0; i < resamples; ++i) {
    redraw(differences, random, some_differences);
    redraw(native, random, some_native);
    gains.push_back(centre(some_differences) / median(some_native));
  }
  std::ranges::sort(gains);
  const auto below = static_cast<std::size_t>(tail * static_cast<double>(resamples));
  return {gains[below], gains[resamples - 1 - below]};
}

/// Half the interval's width that launches of this noise cause, as a fraction of the native time.
double half_width(double noise, double native, double again, double harmless, double pairs,
                  double native_launches) {
  constexpr double efficiency = 3 / 3.14159265358979323846;  // of centre(), for normal noise
  const double difference = (again * again + harmless * harmless) / (pairs * efficiency);
  const double scale = (again - harmless) * (again - harmless) / native_launches;
  const double sigmas = -boost::math::quantile(boost::math::normal(), confidence_tail);
  return sigmas * noise * std::sqrt(difference + scale) / native;
}

/// Appends the differences of successive times, as fractions of their median.
void append_steps(const std::vector<double>& times, std::vector<double>& steps) {
  const double usual = median(times);
  for (std::size_t i = 1; i < times.size(); ++i) steps.push_back(std::abs(times[i] - times[i - 1]) / usual);
}

}  // namespace

std::optional<double> noise_of(std::span<const std::vector<double>> variants) {
  std::vector<double> steps;
  for (const std::vector<double>& times : variants) {
    if (times.size() > 2) append_steps(without_warm_up(times), steps);
  }
  for (const std::vector<double>& times : variants) {
    if (steps.empty() && times.size() == 2) append_steps(times, steps);
  }
  if (steps.empty()) return std::nullopt;
  // The median of |x - y| is 0.6745 sqrt(2) standard deviations; Student's factor allows for few of them.
  const boost::math::students_t student(static_cast<double>(steps.size()));
  const double few = boost::math::quantile(student, confidence_tail) /
                     boost::math::quantile(boost::math::normal(), confidence_tail);
  return few * median(std::move(steps)) / (0.6745 * std::sqrt(2.0));
}

std::optional<Gain> gain_of(const Times& times, std::optional<double> noise) {
  for (const std::span<const double> each : {times.native, times.again, times.harmless}) {
    if (each.empty()) return std::nullopt;
    LYNXPP_CHECK(std::ranges::all_of(each, [](double ms) { return std::isfinite(ms) && ms > 0; }),
                 "a time that is not positive");
  }
  const std::vector<double> native = without_warm_up(times.native), again = without_warm_up(times.again),
                            harmless = without_warm_up(times.harmless);
  std::vector<double> differences;
  for (std::size_t i = 0; i < std::min(again.size(), harmless.size()); ++i)
    differences.push_back(again[i] - harmless[i]);
  const double usual = median(native);
  const double estimate = centre(differences) / usual;
  Interval interval{estimate, estimate};
  if (differences.size() > 1) interval = bootstrap(differences, native);
  if (noise) {
    const double half =
        half_width(*noise, usual, median(again), median(harmless), static_cast<double>(differences.size()),
                   static_cast<double>(native.size()));
    interval = {std::min(interval.low, estimate - half), std::max(interval.high, estimate + half)};
  } else if (differences.size() == 1) {
    interval = {0, 1};  // a single pair says nothing about how certain it is
  }
  const auto clamped = [](double value) { return std::clamp(value, 0.0, 1.0); };
  return Gain{clamped(estimate), clamped(std::min(interval.low, estimate)),
              clamped(std::max(interval.high, estimate))};
}

Gain without(const Gain& cost, std::span<const Gain> others) {
  Gain gain = cost;
  for (const Gain& each : others) {
    gain.at_most = std::min(gain.at_most, 1 - each.at_most);
    gain.low = std::min(gain.low, 1 - each.high);
    gain.high = std::min(gain.high, 1 - each.low);
  }
  return gain;
}

}  // namespace lynxpp::models::limits
