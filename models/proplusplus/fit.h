// Weights of the criteria fitted to a device, as Pro++ names for its future work: by a regression of how fast
// the implementations of primitives are over their criteria.
//
//   y = a_p + Σ w_c c    y: the fastest implementation's time over this one's, within primitive p
//                        c: the criteria; a_p: what is the same for all implementations of the primitive
//
// Least squares with w_c ≥ 0, as a weight that falls with the criterion would ask for worse programs. It is
// the best of the regressions over every set of criteria whose coefficients are all above 0 and significant
// (p ≤ 0.05).
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
  double seconds = 0;  ///< 0: not known
};

/// How well weights tell which of two implementations of a primitive is the faster.
struct Ordering {
  std::size_t pairs = 0;  ///< that differ in time
  std::size_t right = 0;
  bool operator==(const Ordering&) const = default;
};

struct FittedCriterion {
  enum class Outcome {
    fitted,
    against,  ///< more of it did not go, or not significantly, with more speed: weight 0
    same      ///< it varies by less than 0.01 among implementations: the weight is the paper's
  };
  Outcome outcome = Outcome::same;
  double weight = 0;
  /// Of `fitted`: of the regression over the criteria that are in it.
  double coefficient = 0, standard_error = 0, p = 1;
};

struct WeightFit {
  PerCriterion<FittedCriterion> criteria;
  std::vector<Implementation> used;
  std::size_t primitives = 0;
  std::size_t left_out = 0;  ///< without a time or a criterion, or the only one of its primitive
  double r_squared = 0;      ///< of the differences within primitives
  /// Each primitive predicted by the fit without it.
  double validated_r_squared = 0;
  double validated_rmse = 0;  ///< of y
  Ordering fitted, validated, papers;

  /// The sum is the paper's.
  Weights weights(std::string source) const;
};

/// Failure: too few implementations, or no criterion goes with the speed.
Result<WeightFit> fit_weights(std::span<const Implementation> implementations);

/// What is stored of a device.
struct StoredWeights {
  std::string device;
  std::string date;
  bool is_modelled = false;
  WeightFit fit;
};
/// The file; parse_weights() reads it.
std::string to_json(const StoredWeights& stored);

}  // namespace lynxpp::models::proplusplus
