// CampProf's band: the range of times of a memory-bound kernel, from none of its transactions camped to all,
// at every number of active warps; the kernel's position in it; and its predicted time at the other numbers.
//
//   const Result<Band> band = band_of(*calibration, *equations, kernel);
//   band->degree   // (time - best) / (worst - best)
//
// A line is the sum over the six types of time per transaction times count. The work is the same at every
// number of active warps: fewer warps need more rounds.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/campprof/calibration.h"

namespace lynxpp::models::campprof {

/// Transactions of the whole launch by type, in the order of transaction_bytes.
using Counts = std::array<double, 3>;

struct Kernel {
  Counts reads{};
  Counts writes{};
  std::uint32_t warps = 0;             ///< active on each multiprocessor during the measurement
  std::uint32_t most_warps = 0;        ///< maximum that can be active there; at least `warps`
  std::optional<double> milliseconds;  ///< nullopt: the band has no position
};

struct Range {
  double best = 0;   ///< milliseconds with all transactions spread
  double worst = 0;  ///< … camped
};

struct Point {
  std::uint32_t warps = 0;
  Range reads;                        ///< reads only
  Range writes;                       ///< writes only
  std::optional<double> application;  ///< predicted, at the kernel's degree
  Range all() const { return {reads.best + writes.best, reads.worst + writes.worst}; }
};

struct Band {
  std::vector<Point> points;  ///< by warps, up to the kernel's maximum
  Point here;                 ///< at the kernel's own number of active warps
  /// (time - best) / (worst - best); outside 0 to 1 if the time is not in the band
  std::optional<double> degree;
  /// The same if only the reads were camped and the writes spread: above 1, the reads alone do not explain
  /// the time. nullopt unless apart_of() returns `enough`.
  std::optional<double> degree_if_only_reads;
  std::optional<double> degree_if_only_writes;
  /// The time of these transactions, all spread, at the device's maximum number of warps, divided by the
  /// kernel's time: the share of the maximum memory throughput that the kernel reaches. Above 1, a cache
  /// serves some of them. nullopt without a time, or if an equation yields none at the maximum number of
  /// warps.
  std::optional<double> share_of_ceiling;
  std::vector<std::uint32_t> left_out;  ///< configurations for which an equation yields no positive time
};

/// Relation of one direction's lines to a time.
enum class Apart : std::uint8_t {
  none,     ///< the kernel makes no such transactions
  flat,     ///< the worst time exceeds the best by less than a tenth: they do not camp
  too_few,  ///< the lines differ by less than least_part_of_time of the time: a degree would be noise
  enough,
};
constexpr double least_part_of_time = 0.1;
Apart apart_of(const Range& alone, double milliseconds);

/// From this share of the ceiling on, a kernel is bound by memory throughput. Below it, the cause may be
/// camping, latency or arithmetic.
constexpr double least_bound_share = 0.5;

/// Fails without transactions or warps, for counts that are negative or not numbers, if an equation yields no
/// time at the kernel's own number of warps, or if worst is not above best there.
Result<Band> band_of(const Calibration& calibration, const Equations& equations, const Kernel& kernel);

}  // namespace lynxpp::models::campprof
