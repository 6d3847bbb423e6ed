// CampProf's band: between which times a memory-bound kernel lies, from none of its transactions camped to
// all, at every number of active warps; where it lies; and what its time would be at the other numbers.
//
//   const Result<Band> band = band_of(*calibration, *equations, kernel);
//   band->degree   // (time - best) / (worst - best)
//
// A line is the sum over the six types of time per transaction times count. The work is the same at every
// number of active warps: fewer of them need more rounds.
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
  std::uint32_t warps = 0;             ///< active on each multiprocessor while it was timed
  std::uint32_t most_warps = 0;        ///< that it could have there; at least `warps`
  std::optional<double> milliseconds;  ///< without it there is a band but no place in it
};

struct Range {
  double best = 0;   ///< milliseconds with all transactions spread
  double worst = 0;  ///< … camped
};

struct Point {
  std::uint32_t warps = 0;
  Range reads;                        ///< of the reads alone
  Range writes;                       ///< of the writes alone
  std::optional<double> application;  ///< predicted, at the kernel's degree
  Range all() const { return {reads.best + writes.best, reads.worst + writes.worst}; }
};

struct Band {
  std::vector<Point> points;  ///< by warps, up to the kernel's most
  Point here;                 ///< at the kernel's own number of active warps
  /// (time - best) / (worst - best): outside of 0 to 1 the time is not in the band
  std::optional<double> degree;
  /// The same were only the reads camped, and the writes spread: above 1 the reads alone do not explain the
  /// time. Nothing where apart_of says why.
  std::optional<double> degree_if_only_reads;
  std::optional<double> degree_if_only_writes;
  /// The time of these transactions, all spread, at the most warps of the device, over the kernel's time: the
  /// share that it reaches of what memory yields at most. Above 1 something nearer serves them, a cache.
  /// Nothing without a time, and where an equation yields none at the most warps.
  std::optional<double> share_of_ceiling;
  std::vector<std::uint32_t> left_out;  ///< configurations at which an equation yields no time above 0
};

/// What the lines of one direction alone are to a time.
enum class Apart : std::uint8_t {
  none,     ///< the kernel makes no such transactions
  flat,     ///< their worst line is not above their best one by a tenth: they do not camp
  too_few,  ///< these lines differ by less than least_part_of_time of the time: a degree would be noise
  enough,
};
constexpr double least_part_of_time = 0.1;
Apart apart_of(const Range& alone, double milliseconds);

/// From this share of the ceiling on memory's throughput is what a kernel waits for. Below it may be camping,
/// latency or arithmetic.
constexpr double least_bound_share = 0.5;

/// Fails without transactions, without warps, with counts that are negative or no numbers, when an equation
/// yields no time at the kernel's own number of warps, and when worst is not above best there.
Result<Band> band_of(const Calibration& calibration, const Equations& equations, const Kernel& kernel);

}  // namespace lynxpp::models::campprof
