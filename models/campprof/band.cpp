#include "models/campprof/band.h"

#include <cmath>

namespace lynxpp::models::campprof {
namespace {

Status check_kernel(const Kernel& kernel) {
  double sum = 0;
  for (const Counts* counts : {&kernel.reads, &kernel.writes}) {
    for (const double count : *counts) {
      if (!std::isfinite(count) || count < 0)
        return failure("a count of transactions is negative or no number");
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

/// Of one direction at a number of warps; nullopt where an equation yields no time.
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

/// How far `time` is from all spread to `range` camped; nothing where that makes next to no difference.
std::optional<double> share_of(double time, double best, const Range& range) {
  if (!(range.worst > least_camping_ratio * range.best)) return std::nullopt;
  return (time - best) / (range.worst - range.best);
}

}  // namespace

Result<Band> band_of(const Calibration& calibration, const Equations& equations, const Kernel& kernel) {
  if (Status checked = check_kernel(kernel); !checked) return checked.error();
  Band band;
  const std::optional<Point> here = point_at(calibration, equations, kernel, kernel.warps);
  const std::string at = "at " + std::to_string(kernel.warps) + " active warps ";
  if (!here) return failure(at + "the equations yield no time above 0 for these transactions");
  const Range all = here->all();
  if (!(all.worst > least_camping_ratio * all.best))
    return failure(at + "the worst line is not above the best one by a tenth: the device does not camp there",
                   "there is no degree of camping to tell");
  band.here = *here;
  if (kernel.milliseconds) {
    band.degree = share_of(*kernel.milliseconds, all.best, all);
    band.degree_if_only_reads = share_of(*kernel.milliseconds, all.best, here->reads);
    band.degree_if_only_writes = share_of(*kernel.milliseconds, all.best, here->writes);
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
