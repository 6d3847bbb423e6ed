// Criterion weights fitted to a device, which Pro++ names as future work: a regression of implementations'
// speed over their criteria.
//
//   y = a_p + Σ w_c c    y: the fastest implementation's time over this one's, within primitive p
//                        c: the criteria; a_p: common to all implementations of the primitive
//
// Least squares with w_c ≥ 0, because a negative weight would favour worse programs. How well the weights
// order implementations is judged by primitives that they were not fitted to.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "models/proplusplus/criteria.h"
#include "models/proplusplus/weights.h"
#include "support/result.h"

namespace lynxpp::models::proplusplus {

/// One implementation of a primitive.
struct Implementation {
  std::string primitive;
  std::string name;
  Criteria criteria;
  double seconds = 0;  ///< 0: unknown
};

struct FittedCriterion {
  enum class Outcome {
    fitted,
    against,  ///< larger values do not correlate with speed: weight 0
    same      ///< it varies by less than 0.01 between implementations: the weight is the paper's
  };
  Outcome outcome = Outcome::same;
  double weight = 0;
  double coefficient = 0;  ///< w_c
};

struct WeightFit {
  PerCriterion<FittedCriterion> criteria;
  std::vector<Implementation> used;
  std::size_t primitives = 0;
  std::size_t left_out = 0;  ///< without a time or a criterion, or the only implementation of its primitive
  double r_squared = 0;      ///< of the differences within primitives
  /// Cross-validated: each primitive is predicted by the fit without it.
  double validated_r_squared = 0;
  double validated_rmse = 0;  ///< of y
  Ordering fitted, papers;
  Evidence validated;  ///< without a source

  /// Returns weights with the same sum as the paper's.
  Weights weights(std::string source) const;
};

/// Fails if there are too few implementations, or if no criterion correlates with speed.
Result<WeightFit> fit_weights(std::span<const Implementation> implementations);

/// Contents of a file of fitted weights.
struct StoredWeights {
  std::string device;
  std::string date;
  bool is_modelled = false;
  WeightFit fit;
};
/// Formats a file for parse_weights().
std::string to_json(const StoredWeights& stored);

}  // namespace lynxpp::models::proplusplus
