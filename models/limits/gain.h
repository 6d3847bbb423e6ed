// Computes what a class of operations costs a kernel from times of launches of three variants: the original,
// one in which each operation of the class happens twice (`again`), and one in which a harmless operation of
// the same kind is added (`harmless`). Without the operations the kernel saves at most what repeating them
// costs; for accesses, whose harmless form is an access, too, that is again - native, and again - harmless is
// what another pattern saves at most.
//
//   const std::optional<double> noise = noise_of({native, again, harmless});
//   const std::optional<Gain> gain = gain_of({native, again, harmless}, noise);
//   if (gain && gain->low > 0.03) …   // surely worth more than 3 % of the kernel's time
//
// Times are in the order of the launches. The first launch of each variant warms up caches and is ignored if
// the variant has others.
//
//   const Gain at_most = without(gain_of_a, std::array{gain_of_b});   // the kernel still needs b
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace lynxpp::models::limits {

/// A fraction of the original kernel's time. Invariant: 0 <= low <= at_most <= high <= 1.
struct Gain {
  double at_most = 0;  ///< the operations' cost. Without it another limit may appear, so that less is gained;
                       ///< more may be gained where a warp waits for latency (docs/limits.md)
  double low = 0;      ///< 95 % confidence interval of `at_most`
  double high = 1;
};

/// Times of launches in ms, each finite and above 0.
struct Times {
  std::span<const double> native;
  std::span<const double> again;
  std::span<const double> harmless;  ///< or `native`
};

/// Returns the relative standard deviation of a launch's time, pooled over variants: robust against outliers
/// and slow drifts. nullopt if no variant has two times.
std::optional<double> noise_of(std::span<const std::vector<double>> variants);

/// Returns (again - harmless) / native from medians. Launches are paired in their order, so that drifts
/// cancel if the order of `again` and `harmless` alternates. The interval combines a bootstrap over the pairs
/// with `noise`, since few pairs may agree by chance; a deterministic clock has noise 0. nullopt if a variant
/// has no time. Same arguments, same result.
std::optional<Gain> gain_of(const Times& times, std::optional<double> noise);

/// Returns what a kernel gains at most without operations of this cost if all others stay, whose costs are
/// `others`. Work takes no longer together than one after the other: a kernel with B twice takes at most as
/// long as the kernel and then B alone. So B alone, and any kernel that contains it, takes at least what
/// repeating B costs. This holds if B's variant has the kernel's resources, and unless the operations that go
/// order B's, as barriers do.
Gain without(const Gain& cost, std::span<const Gain> others);

}  // namespace lynxpp::models::limits
