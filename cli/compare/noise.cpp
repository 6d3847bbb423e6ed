#include "cli/compare/noise.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace lynxpp::cli {
namespace {

/// Specifications all of whose results come from clocks and SM numbers.
constexpr std::string_view timed_specifications[] = {"kernel_runtime", "block_runtime", "warp_timeline"};
constexpr std::string_view units_of_time[] = {"cycles", "ns", "us", "ms", "s"};

}  // namespace

Repeats repeats(const report::SpecificationTotals& totals, std::string_view unit,
                const std::vector<std::string>& extents, const report::Summary& summary) {
  const bool is_timed = std::ranges::count(timed_specifications, totals.spec) != 0 ||
                        std::ranges::count(units_of_time, unit) != 0 ||
                        std::ranges::count(extents, "SMS") != 0;
  if (!is_timed) return Repeats::exactly;
  const bool is_modelled = std::ranges::any_of(
      summary.timings, [](const report::TimingRecord& each) { return !each.modelled.empty(); });
  return totals.device == "cpu" && !is_modelled ? Repeats::not_at_all : Repeats::roughly;
}

bool is_noise(const Change& change, Repeats repeats) {
  if (repeats == Repeats::exactly) return false;
  return repeats == Repeats::not_at_all || change.factor() < std::log1p(noise_of_times);
}

}  // namespace lynxpp::cli
