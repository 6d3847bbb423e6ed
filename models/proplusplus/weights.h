// Weights of the Pro++ criteria, the resulting quality, and what to improve first.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/proplusplus/criteria.h"
#include "support/result.h"

namespace lynxpp::models::proplusplus {

/// How well weights predict which of two implementations of a primitive is faster.
struct Ordering {
  std::size_t pairs = 0;  ///< pairs whose times differ by more than 5 %
  std::size_t right = 0;
  bool operator==(const Ordering&) const = default;
  /// Kendall's rank correlation, -1 to 1; 0 without pairs.
  double rank_correlation() const;
};

/// Compares each two implementations of a primitive: `qualities` and `speeds` have one value for each.
Ordering ordering_of(std::span<const double> qualities, std::span<const double> speeds);

/// How well weights order implementations of primitives that they were not fitted to.
struct Evidence {
  std::string source;  ///< "NVIDIA H100 80GB HBM3, 2026-11-26"
  Ordering order;
  /// The rank correlation's 95 % interval, by resampling primitives, whose pairs depend on each other.
  double low = -1, high = 1;
  /// True unless the interval is above 0.
  bool is_chance() const { return !(low > 0); }
  bool operator==(const Evidence&) const = default;
};
/// `primitives`: the pairs of each. The interval is the same in every call.
Evidence evidence_of(std::string source, std::span<const Ordering> primitives);

struct Weights {
  std::string source;  ///< their origin
  PerCriterion<double> of;
  std::optional<Evidence> evidence = {};  ///< nullopt: they were never compared with times
};

/// From the caption of the paper's Table III: 30, 30, 15, 10, 70, 100, 100, 50.
Weights paper_weights();

/// Version of the files of fitted weights (fit.h).
inline constexpr int weights_version = 2;

/// Parses the text of a file, an object with a non-negative number for each symbol, "OC" to "DT":
///   {"source": "NVIDIA H100", "weights": {"OC": 30, …, "DT": 50}}
/// A file of fitted weights has their evidence, too.
/// `file` names it in diagnostics. Fails for members that are missing, unknown or out of range, naming each,
/// and for fitted weights of another version.
Result<Weights> parse_weights(std::string_view text, const std::string& file);
/// Formats a file for parse_weights().
std::string to_json(const Weights& weights);

/// QM: the weighted mean of the criteria. The printed formula omits SO, although the paper gives it a weight.
/// Criteria without a value are skipped. nullopt if no criterion with a weight has a value.
std::optional<double> quality(const Criteria& criteria, const Weights& weights);

/// The cost of a criterion: weight times distance from 1, divided by the sum of the weights used, so that all
/// gaps sum to 1 minus the quality.
struct Gap {
  Criterion criterion = Criterion::occupancy;
  double size = 0;
};
/// Returns the gaps in descending order, omitting those of size 0.
std::vector<Gap> gaps(const Criteria& criteria, const Weights& weights);

}  // namespace lynxpp::models::proplusplus
