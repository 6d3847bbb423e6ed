// What the criteria of Pro++ weigh, the quality that follows, and what to improve first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/proplusplus/criteria.h"
#include "support/result.h"

namespace lynxpp::models::proplusplus {

struct Weights {
  std::string source;  ///< where they come from
  PerCriterion<double> of;
};

/// Of the caption of the paper's Table III: 30, 30, 15, 10, 70, 100, 100, 50.
Weights paper_weights();

/// Of the files that fitted weights are stored in (fit.h).
inline constexpr int weights_version = 1;

/// From the text of a file, an object with a number from 0 on for each symbol, "OC" to "DT":
///   {"source": "NVIDIA H100", "weights": {"OC": 30, …, "DT": 50}}
/// `file` names it in diagnostics. Failure: what is missing, unknown or out of range, each by its name; or
/// the file has fitted weights of another version.
Result<Weights> parse_weights(std::string_view text, const std::string& file);
/// What parse_weights() reads.
std::string to_json(const Weights& weights);

/// QM: the mean of the criteria by weight. The printed formula leaves out SO, to which the paper gives a
/// weight all the same. A criterion without a value does not enter. Nullopt when none with a weight has one.
std::optional<double> quality(const Criteria& criteria, const Weights& weights);

/// What a criterion costs: weight times distance from 1, over the sum of the weights that enter, so that all
/// gaps are 1 minus the quality.
struct Gap {
  Criterion criterion = Criterion::occupancy;
  double size = 0;
};
/// The largest first; those of size 0 are left out.
std::vector<Gap> gaps(const Criteria& criteria, const Weights& weights);

}  // namespace lynxpp::models::proplusplus
