// The summary of a page of counters, from which statistics of any whole pages follow.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace lynxpp {

/// Summary of 16,384 consecutive counters. A counter is *used* if it is not 0; positions are relative to the
/// page. Written by device/cuda/kernels/counter_pages.cu.
struct CounterPage {
  static constexpr std::uint64_t counters = 16384;

  std::uint64_t sum = 0;
  std::uint32_t least = 0, greatest = 0;
  std::uint32_t zeros = 0, ones = 0;                ///< counters with that value
  std::uint32_t first = counters, last = counters;  ///< used counters; `counters`: no used counter
  std::uint32_t sectors = 0;                        ///< groups of 8 with a used counter
  /// Groups of 8 that the runs of used counters would occupy if each started at one, without the runs that
  /// touch the page's begin or end.
  std::uint32_t inner_sectors = 0;
  std::uint32_t leading = 0, trailing = 0;  ///< lengths of those runs; both `counters` if all are used
  std::uint32_t stride = 0;                 ///< greatest common divisor of the distances of used counters
  std::uint32_t unused = 0;
  std::array<std::uint32_t, 32> by_bits{};  ///< used counters, by bit width - 1

  bool operator==(const CounterPage&) const = default;
};
static_assert(sizeof(CounterPage) == 184);

/// Returns the summary of a page. The device's kernels compute the same.
CounterPage summary_of(std::span<const std::uint32_t, CounterPage::counters> page);

}  // namespace lynxpp
