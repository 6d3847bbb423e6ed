#include "support/counter_page.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace lynxpp {

namespace {

constexpr std::uint32_t per_sector = 8;

/// Summary of a page whose counters are equal, as most are.
CounterPage summary_of_equal(std::uint32_t counted) {
  constexpr std::uint32_t counters = CounterPage::counters;
  CounterPage summary;
  summary.least = summary.greatest = counted;
  if (counted == 0) {
    summary.zeros = counters;
    return summary;
  }
  summary.sum = std::uint64_t{counted} * counters;
  summary.ones = counted == 1 ? counters : 0;
  summary.first = 0;
  summary.last = counters - 1;
  summary.sectors = counters / per_sector;
  summary.leading = summary.trailing = counters;
  summary.stride = 1;
  summary.by_bits[static_cast<std::size_t>(std::bit_width(counted)) - 1] = counters;
  return summary;
}

}  // namespace

CounterPage summary_of(std::span<const std::uint32_t, CounterPage::counters> page) {
  std::uint32_t different = 0;
  for (const std::uint32_t each : page) different |= each ^ page[0];
  if (different == 0) return summary_of_equal(page[0]);
  CounterPage summary;
  summary.least = *std::ranges::min_element(page);
  std::uint32_t run = 0, last_sector = CounterPage::counters;
  bool is_leading = true;
  const auto close_run = [&] {
    if (is_leading) {
      summary.leading = run;
    } else {
      summary.inner_sectors += (run + per_sector - 1) / per_sector;
    }
    is_leading = false;
    run = 0;
  };
  for (std::uint32_t i = 0; i < page.size(); ++i) {
    const std::uint32_t counted = page[i];
    if (counted == 0) {
      ++summary.zeros;
      close_run();
      continue;
    }
    ++run;
    summary.sum += counted;
    summary.greatest = std::max(summary.greatest, counted);
    summary.ones += counted == 1 ? 1 : 0;
    ++summary.by_bits[static_cast<std::size_t>(std::bit_width(counted)) - 1];
    if (summary.first == CounterPage::counters) {
      summary.first = i;
    } else {
      summary.stride = std::gcd(summary.stride, i - summary.last);
    }
    summary.last = i;
    summary.sectors += i / per_sector != last_sector ? 1 : 0;
    last_sector = i / per_sector;
  }
  summary.trailing = run;
  if (is_leading) summary.leading = run;
  return summary;
}

}  // namespace lynxpp
