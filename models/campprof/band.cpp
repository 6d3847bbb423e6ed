#include "models/campprof/band.h"

#include <cmath>

namespace lynxpp::models::campprof {
namespace {

Status check_kernel(const Kernel& kernel) {
  double sum = 0;
  for (const Counts* counts : {&kernel.reads, &kernel.writes}) {
    for (const double count : *counts) {
      if (!std::isfinite(count) || count < 0)
        return failure("a transaction count is negative or not a number");
      sum += count;
    }
  }
  if (sum == 0)
    return failure("the kernel makes no transactions to global memory", "there is no band without any");
  if (kernel.warps == 0) return failure("the kernel has no active warps");
  if (kernel.most_warps < kernel.warps)
    return failure("the kernel has " + std::to_string(kernel.warps) + " active warps and could have " +
                   std::to_string(kernel.most_warps));
  if (kernel.milliseconds && !(*kernel.milliseconds > 0)) return failure("the kernel's time is not above 0");
  return success();
}

/// Returns the range of one direction at a number of warps; nullopt if an equation yields no time.
std::optional<Range> range_of(const Calibration& calibration, const Equations& equations, Direction direction,
                              const Counts& counts, std::uint32_t warps) {
  Range range;
  for (std::uint32_t type = 0; type < counts.size(); ++type) {
    if (counts[type] == 0) continue;
    const auto one = [&](Placement placement) {
      return equations.milliseconds_of_one(calibration, direction, placement, type, warps);
    };
    const std::optional<double> best = one(Placement::spread), worst = one(Placement::camped);
    if (!best || !worst) return std::nullopt;
    range.best += counts[type] * *best;
    range.worst += counts[type] * *worst;
  }
  return range;
}

std::optional<Point> point_at(const Calibration& calibration, const Equations& equations,
                              const Kernel& kernel, std::uint32_t warps) {
  const auto reads = range_of(calibration, equations, Direction::read, kernel.reads, warps);
  const auto writes = range_of(calibration, equations, Direction::write, kernel.writes, warps);
  if (!reads || !writes) return std::nullopt;
  return Point{warps, *reads, *writes, std::nullopt};
}

/// Returns the position of `time` between all transactions spread and those of one direction camped.
std::optional<double> degree_if_only(const Range& alone, double best, double time) {
  if (apart_of(alone, time) != Apart::enough) return std::nullopt;
  return (time - best) / (alone.worst - alone.best);
}

}  // namespace

Apart apart_of(const Range& alone, double milliseconds) {
  if (alone.worst == 0) return Apart::none;
  if (!(alone.worst > least_camping_ratio * alone.best)) return Apart::flat;
  return alone.worst - alone.best < least_part_of_time * milliseconds ? Apart::too_few : Apart::enough;
}

Result<Band> band_of(const Calibration& calibration, const Equations& equations, const Kernel& kernel) {
  if (Status checked = check_kernel(kernel); !checked) return checked.error();
  Band band;
  const std::optional<Point> here = point_at(calibration, equations, kernel, kernel.warps);
  const std::string at = "at " + std::to_string(kernel.warps) + " active warps ";
  if (!here) return failure(at + "the equations yield no time above 0 for these transactions");
  const Range all = here->all();
  if (!(all.worst > least_camping_ratio * all.best))
    return failure(
        at + "the worst time exceeds the best by less than a tenth: the device does not camp there",
        "the degree of camping is undefined");
  band.here = *here;
  if (kernel.milliseconds) {
    band.degree = (*kernel.milliseconds - all.best) / (all.worst - all.best);
    band.degree_if_only_reads = degree_if_only(here->reads, all.best, *kernel.milliseconds);
    band.degree_if_only_writes = degree_if_only(here->writes, all.best, *kernel.milliseconds);
    band.here.application = kernel.milliseconds;
    if (const auto ceiling = point_at(calibration, equations, kernel, calibration.most_warps))
      band.share_of_ceiling = ceiling->all().best / *kernel.milliseconds;
  }
  for (const std::uint32_t warps : configurations(kernel.most_warps)) {
    std::optional<Point> point = point_at(calibration, equations, kernel, warps);
    if (!point) {
      band.left_out.push_back(warps);
      continue;
    }
    const Range range = point->all();
    if (band.degree) point->application = range.best + *band.degree * (range.worst - range.best);
    band.points.push_back(*point);
  }
  return band;
}

}  // namespace lynxpp::models::campprof
