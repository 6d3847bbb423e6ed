// Multiple linear least squares with diagnostics: goodness of fit, certainty of each coefficient, elimination
// of variables, and prediction of unseen points.
//
//   const std::vector<Variable> variables = {{"warps", {1, 2, 3, 4}}, {"bytes", {32, 64, 32, 64}}};
//   const Result<Regression> fit = regress(variables, times);      // times = b0 + b1 warps + b2 bytes
//   const Result<Regression> kept = regress_significant(variables, times, 0.05);
//   const double time = fit->predict({8, 128});
//
// Every function fails, naming the variables, for values that are not finite, variables and responses of
// different lengths, too few points, and collinear variables.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "support/result.h"

namespace lynxpp::models::statistics {

/// An explanatory variable: one value per point.
struct Variable {
  std::string name;
  std::vector<double> values;
};

struct Coefficient {
  std::string name;  ///< of its variable; "intercept"
  double value = 0;
  double standard_error = 0;
  double t = 0;  ///< value / standard_error; infinite if the fit is exact
  double p = 1;  ///< probability of at least this |t| if the coefficient were 0 (Student's t, two-sided)
};

/// An eliminated variable, with its p before elimination.
struct Dropped {
  std::string name;
  double p = 1;
};

struct Regression {
  Coefficient intercept;
  std::vector<Coefficient> coefficients;  ///< in the order of the retained variables
  std::vector<std::size_t> kept;          ///< indices of these among the given variables
  std::vector<Dropped> dropped;           ///< in order of elimination
  std::size_t points = 0;
  std::size_t degrees_of_freedom = 0;  ///< points - coefficients - 1
  double r_squared = 0;                ///< 0 for a constant response
  double adjusted_r_squared = 0;
  double rmse = 0;  ///< square root of (sum of squared residuals / degrees_of_freedom) ("Root MSE")
  double f = 0;     ///< of the entire regression; 0 without variables
  double p = 1;     ///< probability of at least this f by chance (Fisher's F)

  /// `values` are those of all given variables, including eliminated ones, in their order.
  double predict(std::span<const double> values) const;
};

/// Needs at least two more points than variables: with fewer there are no residuals to judge by.
Result<Regression> regress(std::span<const Variable> variables, std::span<const double> response);

/// Backward elimination: drops the variable with the largest p, one at a time, while it is above `level`.
Result<Regression> regress_significant(std::span<const Variable> variables, std::span<const double> response,
                                       double level = 0.05);

struct CrossValidation {
  std::size_t folds = 0;
  std::vector<double> predicted;  ///< of each point, by the fit without its fold
  double rmse = 0;                ///< square root of the mean squared error of these predictions
  double r_squared = 0;           ///< 1 - squared errors / squared distances from the mean; may be negative
};

/// Point i belongs to fold i modulo `folds`: shuffle the points first if their order is meaningful. `folds`
/// is at least 2 and at most the number of points (leave-one-out).
Result<CrossValidation> cross_validate(std::span<const Variable> variables, std::span<const double> response,
                                       std::size_t folds);

}  // namespace lynxpp::models::statistics
