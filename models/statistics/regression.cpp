#include "models/statistics/regression.h"

#include <Eigen/Dense>
#include <algorithm>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <numeric>

namespace lynxpp::models::statistics {
namespace {

/// A variable is collinear if its distance from the span of the others is below this share of its own spread.
constexpr double smallest_independent_share = 1e-10;

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

/// Variables minus their means, each scaled to length 1: the pivots of the QR decomposition are comparable,
/// and the intercept is orthogonal to the variables.
struct Design {
  Matrix scaled;
  Vector means;
  Vector norms;
};

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i)
    list += (i == 0 ? "'" : i + 1 == names.size() ? " and '" : ", '") + names[i] + "'";
  return list;
}

bool is_finite(std::span<const double> values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

Status check_shape(std::span<const Variable> variables, std::span<const double> response) {
  for (const Variable& variable : variables) {
    if (variable.values.size() != response.size())
      return failure("the variable '" + variable.name + "' has " + std::to_string(variable.values.size()) +
                     " values for " + std::to_string(response.size()) + " points");
    if (!is_finite(variable.values))
      return failure("the variable '" + variable.name + "' has values that are not finite");
  }
  if (!is_finite(response)) return failure("the response has values that are not finite");
  const std::size_t needed = variables.size() + 2;
  if (response.size() < needed)
    return failure("too few points for a regression: " + std::to_string(response.size()) + " for " +
                       std::to_string(variables.size()) + " variables and the intercept",
                   "at least " + std::to_string(needed) + " are needed");
  return success();
}

Result<Design> design_of(std::span<const Variable> variables, std::size_t points) {
  const auto rows = static_cast<Eigen::Index>(points), columns = static_cast<Eigen::Index>(variables.size());
  Design design{Matrix(rows, columns), Vector(columns), Vector(columns)};
  for (Eigen::Index j = 0; j < columns; ++j) {
    const Variable& variable = variables[static_cast<std::size_t>(j)];
    const Eigen::Map<const Vector> values(variable.values.data(), rows);
    design.means(j) = values.mean();
    const Vector centred = values.array() - design.means(j);
    design.norms(j) = centred.norm();
    if (design.norms(j) <= smallest_independent_share * values.norm())
      return failure("the variable '" + variable.name + "' is constant: collinear with the intercept",
                     "vary it, or leave it out");
    design.scaled.col(j) = centred / design.norms(j);
  }
  return design;
}

using Decomposition = Eigen::ColPivHouseholderQR<Matrix>;

/// Fails if a variable depends linearly on others, and names them.
Status check_rank(const Decomposition& qr, std::span<const Variable> variables) {
  const Eigen::Index rank = qr.rank(), columns = qr.matrixQR().cols();
  if (rank == columns) return success();
  const auto& order = qr.colsPermutation().indices();
  const auto name_of = [&](Eigen::Index j) { return variables[static_cast<std::size_t>(order(j))].name; };
  const Matrix independent = qr.matrixQR().topLeftCorner(rank, rank).triangularView<Eigen::Upper>();
  const Vector dependent = qr.matrixQR().col(rank).head(rank);
  const Vector weights = independent.triangularView<Eigen::Upper>().solve(dependent);
  std::vector<std::string> names;
  for (Eigen::Index j = 0; j < rank; ++j) {
    if (std::abs(weights(j)) > 1e-6) names.push_back(name_of(j));
  }
  names.push_back(name_of(rank));
  std::ranges::sort(names);
  return failure("the variables " + list_of(names) + " are collinear: one follows from the others",
                 "leave one of them out");
}

Coefficient judged(std::string name, double value, double standard_error, double degrees) {
  Coefficient coefficient{std::move(name), value, standard_error, 0, 1};
  if (standard_error == 0) {
    const double sign = value > 0 ? 1 : -1;
    coefficient.t = value == 0 ? 0 : sign * std::numeric_limits<double>::infinity();
    coefficient.p = value == 0 ? 1 : 0;
    return coefficient;
  }
  coefficient.t = value / standard_error;
  const boost::math::students_t student(degrees);
  coefficient.p = 2 * boost::math::cdf(boost::math::complement(student, std::abs(coefficient.t)));
  return coefficient;
}

/// Computes the quality of the entire fit from the total and the residual sum of squares.
void judge_fit(Regression& fit, double total, double left) {
  const auto variables = static_cast<double>(fit.kept.size());
  const auto degrees = static_cast<double>(fit.degrees_of_freedom);
  fit.rmse = std::sqrt(left / degrees);
  if (total == 0) return;
  fit.r_squared = 1 - left / total;
  fit.adjusted_r_squared = 1 - (left / degrees) / (total / (static_cast<double>(fit.points) - 1));
  if (fit.kept.empty()) return;
  fit.f = left == 0 ? std::numeric_limits<double>::infinity()
                    : std::max(0.0, total - left) / variables / (left / degrees);
  fit.p = left == 0
              ? 0
              : boost::math::cdf(boost::math::complement(boost::math::fisher_f(variables, degrees), fit.f));
}

struct Solved {
  Vector scaled;      ///< coefficients of the scaled variables
  Matrix covariance;  ///< of these, up to the variance of the residuals
};

Result<Solved> solve(const Design& design, std::span<const Variable> variables, const Vector& centred) {
  const Eigen::Index columns = design.scaled.cols();
  if (columns == 0) return Solved{Vector(0), Matrix(0, 0)};
  Decomposition qr(design.scaled.rows(), columns);
  qr.setThreshold(smallest_independent_share);
  qr.compute(design.scaled);
  if (Status independent = check_rank(qr, variables); !independent) return independent.error();
  const Matrix upper = qr.matrixQR().topLeftCorner(columns, columns).triangularView<Eigen::Upper>();
  const Matrix inverse = upper.triangularView<Eigen::Upper>().solve(Matrix::Identity(columns, columns));
  const auto permutation = qr.colsPermutation();
  return Solved{qr.solve(centred), permutation * (inverse * inverse.transpose()) * permutation.transpose()};
}

}  // namespace

double Regression::predict(std::span<const double> values) const {
  double sum = intercept.value;
  for (std::size_t i = 0; i < kept.size(); ++i) sum += coefficients[i].value * values[kept[i]];
  return sum;
}

Result<Regression> regress(std::span<const Variable> variables, std::span<const double> response) {
  if (Status shaped = check_shape(variables, response); !shaped) return shaped.error();
  const Result<Design> design = design_of(variables, response.size());
  if (!design) return design.error();
  const Eigen::Map<const Vector> observed(response.data(), static_cast<Eigen::Index>(response.size()));
  const Vector centred = observed.array() - observed.mean();
  const Result<Solved> solved = solve(*design, variables, centred);
  if (!solved) return solved.error();

  Regression fit;
  fit.points = response.size();
  fit.degrees_of_freedom = response.size() - variables.size() - 1;
  fit.kept.resize(variables.size());
  std::iota(fit.kept.begin(), fit.kept.end(), 0);
  const Vector residuals = centred - design->scaled * solved->scaled;
  const auto degrees = static_cast<double>(fit.degrees_of_freedom);
  const double variance = residuals.squaredNorm() / degrees;
  const Vector values = solved->scaled.cwiseQuotient(design->norms);
  for (Eigen::Index j = 0; j < values.size(); ++j) {
    const double error = std::sqrt(variance * solved->covariance(j, j)) / design->norms(j);
    fit.coefficients.push_back(
        judged(variables[static_cast<std::size_t>(j)].name, values(j), error, degrees));
  }
  const Vector means = design->means.cwiseQuotient(design->norms);
  const double spread =
      1 / static_cast<double>(fit.points) + (means.transpose() * solved->covariance * means).value();
  fit.intercept =
      judged("intercept", observed.mean() - values.dot(design->means), std::sqrt(variance * spread), degrees);
  judge_fit(fit, centred.squaredNorm(), residuals.squaredNorm());
  return fit;
}

Result<Regression> regress_significant(std::span<const Variable> variables, std::span<const double> response,
                                       double level) {
  std::vector<Variable> remaining(variables.begin(), variables.end());
  std::vector<std::size_t> indices(variables.size());
  std::iota(indices.begin(), indices.end(), 0);
  std::vector<Dropped> dropped;
  while (true) {
    Result<Regression> fit = regress(remaining, response);
    if (!fit) return fit.error();
    const auto least = std::ranges::max_element(fit->coefficients, {}, &Coefficient::p);
    if (least == fit->coefficients.end() || least->p <= level) {
      fit->kept = indices;
      fit->dropped = std::move(dropped);
      return fit;
    }
    const auto place = least - fit->coefficients.begin();
    dropped.push_back({least->name, least->p});
    remaining.erase(remaining.begin() + place);
    indices.erase(indices.begin() + place);
  }
}

Result<CrossValidation> cross_validate(std::span<const Variable> variables, std::span<const double> response,
                                       std::size_t folds) {
  if (Status shaped = check_shape(variables, response); !shaped) return shaped.error();
  if (folds < 2 || folds > response.size())
    return failure("cross-validation of " + std::to_string(response.size()) + " points in " +
                       std::to_string(folds) + " folds",
                   "there can be from 2 folds to as many as there are points");
  CrossValidation result{folds, std::vector<double>(response.size()), 0, 0};
  for (std::size_t fold = 0; fold < folds; ++fold) {
    std::vector<Variable> seen;
    for (const Variable& variable : variables) seen.push_back({variable.name, {}});
    std::vector<double> seen_response;
    for (std::size_t i = 0; i < response.size(); ++i) {
      if (i % folds == fold) continue;
      for (std::size_t j = 0; j < variables.size(); ++j) seen[j].values.push_back(variables[j].values[i]);
      seen_response.push_back(response[i]);
    }
    const Result<Regression> fit = regress(seen, seen_response);
    if (!fit) return fit.error();
    for (std::size_t i = fold; i < response.size(); i += folds) {
      std::vector<double> values;
      for (const Variable& variable : variables) values.push_back(variable.values[i]);
      result.predicted[i] = fit->predict(values);
    }
  }
  const auto points = static_cast<double>(response.size());
  const double mean = std::accumulate(response.begin(), response.end(), 0.0) / points;
  double missed = 0, total = 0;
  for (std::size_t i = 0; i < response.size(); ++i) {
    missed += (response[i] - result.predicted[i]) * (response[i] - result.predicted[i]);
    total += (response[i] - mean) * (response[i] - mean);
  }
  result.rmse = std::sqrt(missed / points);
  result.r_squared = total == 0 ? 0 : 1 - missed / total;
  return result;
}

}  // namespace lynxpp::models::statistics
