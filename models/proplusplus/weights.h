// Weights of the Pro++ criteria, the resulting quality, and what to improve first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/proplusplus/criteria.h"
#include "support/result.h"

namespace lynxpp::models::proplusplus {

struct Weights {
  std::string source;  ///< their origin
  PerCriterion<double> of;
};

/// From the caption of the paper's Table III: 30, 30, 15, 10, 70, 100, 100, 50.
Weights paper_weights();

/// Version of the files of fitted weights (fit.h).
inline constexpr int weights_version = 1;

/// Parses the text of a file, an object with a non-negative number for each symbol, "OC" to "DT":
///   {"source": "NVIDIA H100", "weights": {"OC": 30, …, "DT": 50}}
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
