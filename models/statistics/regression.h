// Multiple linear least squares with what is needed to judge it: how well it fits, how sure each coefficient
// is, which variables can be left out, and how well it predicts what it has not seen.
//
//   const std::vector<Variable> variables = {{"warps", {1, 2, 3, 4}}, {"bytes", {32, 64, 32, 64}}};
//   const Result<Regression> fit = regress(variables, times);      // times = b0 + b1 warps + b2 bytes
//   const Result<Regression> kept = regress_significant(variables, times, 0.05);
//   const double time = fit->predict({8, 128});
//
// Every function fails, with the variables' names in the diagnostics, on numbers that are not finite, on
// variables and responses of different lengths, on too few points, and on collinear variables.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "support/result.h"

namespace lynxpp::models::statistics {

/// What the response may depend on: one value for each point.
struct Variable {
  std::string name;
  std::vector<double> values;
};

struct Coefficient {
  std::string name;  ///< of its variable; "intercept"
  double value = 0;
  double standard_error = 0;
  double t = 0;  ///< value / standard_error; infinite where the fit is exact
  double p = 1;  ///< that |t| is at least this by chance were the coefficient 0 (Student's t, two-sided)
};

/// A variable that was left out, with its p before it was.
struct Dropped {
  std::string name;
  double p = 1;
};

struct Regression {
  Coefficient intercept;
  std::vector<Coefficient> coefficients;  ///< in the order of the variables that were kept
  std::vector<std::size_t> kept;          ///< indices of these among the variables given
  std::vector<Dropped> dropped;           ///< in the order in which they were dropped
  std::size_t points = 0;
  std::size_t degrees_of_freedom = 0;  ///< points less coefficients less 1
  double r_squared = 0;                ///< of a constant response: 0
  double adjusted_r_squared = 0;
  double rmse = 0;  ///< square root of the squared residuals' sum / degrees_of_freedom ("Root MSE")
  double f = 0;     ///< of the regression as a whole; 0 without variables
  double p = 1;     ///< that f is at least this by chance (Fisher's F)

  /// `values` are those of all variables that were given, the dropped ones too, in their order.
  double predict(std::span<const double> values) const;
};

/// Needs at least two more points than variables: with fewer there is no residual to judge by.
Result<Regression> regress(std::span<const Variable> variables, std::span<const double> response);

/// Backward elimination: drops the variable with the largest p, one at a time, while that is above `level`.
Result<Regression> regress_significant(std::span<const Variable> variables, std::span<const double> response,
                                       double level = 0.05);

struct CrossValidation {
  std::size_t folds = 0;
  std::vector<double> predicted;  ///< of each point, by the fit without its fold
  double rmse = 0;                ///< square root of the mean squared error of these predictions
  double r_squared = 0;  ///< 1 - their squared errors / squared distances from the mean; may be negative
};

/// Point i belongs to fold i modulo `folds`: order points at random first where their order means something.
/// `folds` from 2 to the number of points (which leaves one out at a time).
Result<CrossValidation> cross_validate(std::span<const Variable> variables, std::span<const double> response,
                                       std::size_t folds);

}  // namespace lynxpp::models::statistics
