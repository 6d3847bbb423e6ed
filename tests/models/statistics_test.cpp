// Regression compared with NIST's certified values, with closed forms, and with an alternative computation:
// normal equations in long double, and p by integrating the densities.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "models/statistics/correlation.h"
#include "models/statistics/regression.h"
#include "support/text.h"

namespace lynxpp::models::statistics {
namespace {

using testing::HasSubstr;

std::string problem_of(const auto& result) { return result ? "" : render(result.error().diagnostics, ""); }

/// Compares with a relative tolerance.
void expect_close(double actual, double expected, double relative, const std::string& what = {}) {
  EXPECT_NEAR(actual, expected, std::abs(expected) * relative) << what;
}

// ---- alternative computation

using Real = long double;
using Table = std::vector<std::vector<Real>>;

/// Gauss-Jordan elimination with pivoting.
Table inverse(Table matrix) {
  const std::size_t size = matrix.size();
  Table result(size, std::vector<Real>(size, 0));
  for (std::size_t i = 0; i < size; ++i) result[i][i] = 1;
  for (std::size_t column = 0; column < size; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column; row < size; ++row)
      if (std::abs(matrix[row][column]) > std::abs(matrix[pivot][column])) pivot = row;
    std::swap(matrix[column], matrix[pivot]);
    std::swap(result[column], result[pivot]);
    const Real divisor = matrix[column][column];
    for (std::size_t k = 0; k < size; ++k) matrix[column][k] /= divisor, result[column][k] /= divisor;
    for (std::size_t row = 0; row < size; ++row) {
      if (row == column) continue;
      const Real factor = matrix[row][column];
      for (std::size_t k = 0; k < size; ++k) {
        matrix[row][k] -= factor * matrix[column][k];
        result[row][k] -= factor * result[column][k];
      }
    }
  }
  return result;
}

/// The integral from 0 to `end` by Simpson's rule.
template <typename Function>
Real integral(Real end, const Function& function) {
  constexpr int steps = 200000;
  const Real width = end / steps;
  Real sum = function(Real(0)) + function(end);
  for (int i = 1; i < steps; ++i) sum += function(i * width) * (i % 2 == 1 ? 4 : 2);
  return sum * width / 3;
}

Real student_p(Real t, Real degrees) {
  const Real scale = std::exp(std::lgamma((degrees + 1) / 2) - std::lgamma(degrees / 2)) /
                     std::sqrt(degrees * std::acos(Real(-1)));
  return 1 - 2 * scale * integral(std::abs(t), [&](Real x) {
               return std::pow(1 + x * x / degrees, -(degrees + 1) / 2);
             });
}

/// Substitutes x = u^2, since the density for one or two numerator degrees is infinite or steep at 0.
Real fisher_p(Real f, Real numerator, Real denominator) {
  const Real half = numerator / 2, other = denominator / 2;
  const Real scale = std::exp(std::lgamma(half + other) - std::lgamma(half) - std::lgamma(other)) *
                     std::pow(numerator / denominator, half);
  return 1 - scale * integral(std::sqrt(f), [&](Real u) {
               return 2 * std::pow(u, numerator - 1) *
                      std::pow(1 + numerator / denominator * u * u, -(half + other));
             });
}

struct Reference {
  std::vector<Real> values, errors;  ///< of the intercept and the variables
  Real r_squared = 0, rmse = 0, f = 0;
};

Reference normal_equations(const std::vector<Variable>& variables, const std::vector<double>& response) {
  const std::size_t size = variables.size() + 1, points = response.size();
  const auto entry = [&](std::size_t point, std::size_t column) -> Real {
    return column == 0 ? 1 : variables[column - 1].values[point];
  };
  Table products(size, std::vector<Real>(size, 0));
  std::vector<Real> right(size, 0);
  Real mean = 0;
  for (std::size_t point = 0; point < points; ++point) {
    mean += static_cast<Real>(response[point]) / points;
    for (std::size_t i = 0; i < size; ++i) {
      right[i] += entry(point, i) * response[point];
      for (std::size_t j = 0; j < size; ++j) products[i][j] += entry(point, i) * entry(point, j);
    }
  }
  const Table inverted = inverse(products);
  Reference reference;
  for (std::size_t i = 0; i < size; ++i) {
    Real value = 0;
    for (std::size_t j = 0; j < size; ++j) value += inverted[i][j] * right[j];
    reference.values.push_back(value);
  }
  Real left = 0, total = 0;
  for (std::size_t point = 0; point < points; ++point) {
    Real fitted = 0;
    for (std::size_t i = 0; i < size; ++i) fitted += reference.values[i] * entry(point, i);
    left += (response[point] - fitted) * (response[point] - fitted);
    total += (response[point] - mean) * (response[point] - mean);
  }
  const Real degrees = points - size;
  for (std::size_t i = 0; i < size; ++i)
    reference.errors.push_back(std::sqrt(left / degrees * inverted[i][i]));
  reference.r_squared = 1 - left / total;
  reference.rmse = std::sqrt(left / degrees);
  reference.f = (total - left) / (size - 1) / (left / degrees);
  return reference;
}

// ---- data

/// Longley's data from NIST's reference datasets: the most difficult linear one for least squares.
const std::vector<Variable> longley = {
    {"deflator",
     {83, 88.5, 88.2, 89.5, 96.2, 98.1, 99, 100, 101.2, 104.6, 108.4, 110.8, 112.6, 114.2, 115.7, 116.9}},
    {"product",
     {234289, 259426, 258054, 284599, 328975, 346999, 365385, 363112, 397469, 419180, 442769, 444546, 482704,
      502601, 518173, 554894}},
    {"unemployed",
     {2356, 2325, 3682, 3351, 2099, 1932, 1870, 3578, 2904, 2822, 2936, 4681, 3813, 3931, 4806, 4007}},
    {"armed",
     {1590, 1456, 1616, 1650, 3099, 3594, 3547, 3350, 3048, 2857, 2798, 2637, 2552, 2514, 2572, 2827}},
    {"population",
     {107608, 108632, 109773, 110929, 112075, 113270, 115094, 116219, 117388, 118734, 120445, 121950, 123366,
      125368, 127852, 130081}},
    {"year",
     {1947, 1948, 1949, 1950, 1951, 1952, 1953, 1954, 1955, 1956, 1957, 1958, 1959, 1960, 1961, 1962}}};
const std::vector<double> longley_response = {60323, 61122, 60171, 61187, 63221, 63639, 64989, 63761,
                                              66019, 67857, 68169, 66513, 68655, 69564, 69331, 70551};

/// y = 3 + 2 a - 5 b with noise; y does not depend on the noise c.
struct Drawn {
  std::vector<Variable> variables{{"a", {}}, {"b", {}}, {"c", {}}};
  std::vector<double> response;
};
Drawn drawn(std::size_t points, double noise) {
  std::mt19937 random(22);  // its sequence is specified by the standard
  const auto unit = [&] { return static_cast<double>(random()) / 4294967296.0 - 0.5; };
  Drawn data;
  for (std::size_t i = 0; i < points; ++i) {
    for (Variable& variable : data.variables) variable.values.push_back(20 * unit());
    data.response.push_back(3 + 2 * data.variables[0].values[i] - 5 * data.variables[1].values[i] +
                            noise * unit());
  }
  return data;
}

// ---- regression

TEST(Regression, LongleyMatchesNistsCertifiedValues) {
  const Result<Regression> fit = regress(longley, longley_response);
  ASSERT_TRUE(fit) << problem_of(fit);
  const double values[] = {15.0618722713733,  -0.0358191792925910, -2.02022980381683,
                           -1.03322686717359, -0.0511041056535807, 1829.15146461355};
  const double errors[] = {84.9149257747669,  0.0334910077722432, 0.488399681651699,
                           0.214274163161675, 0.226073200069370,  455.478499142212};
  expect_close(fit->intercept.value, -3482258.63459582, 1e-9);
  expect_close(fit->intercept.standard_error, 890420.383607373, 1e-9);
  for (std::size_t i = 0; i < 6; ++i) {
    expect_close(fit->coefficients[i].value, values[i], 1e-8, longley[i].name);
    expect_close(fit->coefficients[i].standard_error, errors[i], 1e-8, longley[i].name);
  }
  expect_close(fit->rmse, 304.854073561965, 1e-10);
  expect_close(fit->r_squared, 0.995479004577296, 1e-12);
  expect_close(fit->f, 330.285339234588, 1e-9);
  EXPECT_EQ(fit->degrees_of_freedom, 9u);
  expect_close(fit->adjusted_r_squared, 1 - (1 - 0.995479004577296) * 15 / 9, 1e-12);
}

TEST(Regression, MatchesNormalEquationsInLongDouble) {
  for (const double noise : {0.1, 4.0, 60.0}) {
    const Drawn data = drawn(40, noise);
    const Result<Regression> fit = regress(data.variables, data.response);
    ASSERT_TRUE(fit) << problem_of(fit);
    const Reference reference = normal_equations(data.variables, data.response);
    std::vector<Coefficient> coefficients{fit->intercept};
    coefficients.insert(coefficients.end(), fit->coefficients.begin(), fit->coefficients.end());
    for (std::size_t i = 0; i < coefficients.size(); ++i) {
      const Real t = reference.values[i] / reference.errors[i];
      expect_close(coefficients[i].value, reference.values[i], 1e-10);
      expect_close(coefficients[i].standard_error, reference.errors[i], 1e-10);
      expect_close(coefficients[i].t, t, 1e-10);
      EXPECT_NEAR(coefficients[i].p, static_cast<double>(student_p(t, 36)), 1e-9);
    }
    expect_close(fit->r_squared, reference.r_squared, 1e-12);
    expect_close(fit->rmse, reference.rmse, 1e-10);
    expect_close(fit->f, reference.f, 1e-8);
    EXPECT_NEAR(fit->p, static_cast<double>(fisher_p(reference.f, 3, 36)), 1e-9);
    // The true coefficients are within four standard errors.
    const double known[] = {3, 2, -5, 0};
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(coefficients[i].value, known[i], 4 * coefficients[i].standard_error);
  }
}

TEST(Regression, MatchesManualResultsForFewPoints) {
  // Means 2 and 4; slope 3/2; squared residuals 1/4 + 1 + 1/4 over one degree of freedom.
  const std::vector<Variable> one{{"x", {1, 2, 3}}};
  const Result<Regression> fit = regress(one, std::vector<double>{2, 5, 5});
  ASSERT_TRUE(fit) << problem_of(fit);
  expect_close(fit->coefficients[0].value, 1.5, 1e-14);
  expect_close(fit->intercept.value, 1, 1e-13);
  expect_close(fit->rmse, std::sqrt(1.5), 1e-14);
  expect_close(fit->r_squared, 0.75, 1e-14);
  expect_close(fit->coefficients[0].t, std::sqrt(3), 1e-13);
  expect_close(fit->coefficients[0].p, 1.0 / 3, 1e-12);  // one degree: 1 - 2/pi atan(sqrt 3)
  expect_close(fit->p, 1.0 / 3, 1e-12);
  expect_close(fit->predict(std::vector<double>{10}), 16, 1e-13);
}

TEST(Regression, ExactDataHasNoResidual) {
  const Drawn data = drawn(20, 0);
  const Result<Regression> fit = regress(data.variables, data.response);
  ASSERT_TRUE(fit) << problem_of(fit);
  EXPECT_NEAR(fit->coefficients[0].value, 2, 1e-12);
  EXPECT_NEAR(fit->coefficients[1].value, -5, 1e-12);
  EXPECT_NEAR(fit->coefficients[2].value, 0, 1e-12);
  EXPECT_NEAR(fit->r_squared, 1, 1e-12);
  EXPECT_LT(fit->coefficients[0].p, 1e-50);
}

TEST(Regression, ConstantResponseHasNoExplanation) {
  const std::vector<Variable> one{{"x", {1, 2, 3, 4}}};
  const Result<Regression> fit = regress(one, std::vector<double>{7, 7, 7, 7});
  ASSERT_TRUE(fit) << problem_of(fit);
  EXPECT_EQ(fit->intercept.value, 7);
  EXPECT_EQ(fit->r_squared, 0);
  EXPECT_EQ(fit->f, 0);
  EXPECT_EQ(fit->p, 1);
}

TEST(Regression, EliminationDropsVariablesWithoutEffect) {
  const Drawn data = drawn(60, 4);
  const Result<Regression> all = regress(data.variables, data.response);
  const Result<Regression> fit = regress_significant(data.variables, data.response);
  ASSERT_TRUE(all && fit) << problem_of(fit);
  ASSERT_GT(all->coefficients[2].p, 0.05);
  ASSERT_EQ(fit->dropped.size(), 1u);
  EXPECT_EQ(fit->dropped[0].name, "c");
  EXPECT_EQ(fit->dropped[0].p, all->coefficients[2].p);
  EXPECT_EQ(fit->kept, (std::vector<std::size_t>{0, 1}));
  const Reference reference = normal_equations({data.variables[0], data.variables[1]}, data.response);
  expect_close(fit->coefficients[1].value, reference.values[2], 1e-10);
  expect_close(fit->predict(std::vector<double>{1, 10, 1e9}),
               reference.values[0] + reference.values[1] + 10 * reference.values[2], 1e-10);
}

TEST(Regression, RetainedVariablesKeepTheirOrder) {
  const Drawn data = drawn(60, 4);
  const std::vector<Variable> without_effect_first{data.variables[2], data.variables[0], data.variables[1]};
  const Result<Regression> fit = regress_significant(without_effect_first, data.response);
  ASSERT_TRUE(fit) << problem_of(fit);
  EXPECT_EQ(fit->kept, (std::vector<std::size_t>{1, 2}));
  const Result<Regression> alone =
      regress(std::vector<Variable>(data.variables.begin(), data.variables.begin() + 2), data.response);
  expect_close(fit->predict(std::vector<double>{1e9, 1, 10}), alone->predict(std::vector<double>{1, 10}),
               1e-10);
}

TEST(Regression, EliminationOfAllVariablesLeavesTheMean) {
  const std::vector<Variable> one{{"x", {1, 2, 3, 4}}};
  const Result<Regression> fit = regress_significant(one, std::vector<double>{1, -1, -1, 1});
  ASSERT_TRUE(fit) << problem_of(fit);
  EXPECT_TRUE(fit->coefficients.empty());
  EXPECT_NEAR(fit->intercept.value, 0, 1e-15);
  ASSERT_EQ(fit->dropped.size(), 1u);
  EXPECT_NEAR(fit->dropped[0].p, 1, 1e-12);
}

TEST(Regression, RejectsTooFewPoints) {
  const std::vector<Variable> two{{"a", {1, 2, 4}}, {"b", {1, 3, 2}}};
  const std::string problem = problem_of(regress(two, std::vector<double>{1, 2, 3}));
  EXPECT_THAT(problem, HasSubstr("3 for 2 variables and the intercept"));
  EXPECT_THAT(problem, HasSubstr("at least 4"));
}

TEST(Regression, RejectsCollinearVariablesByName) {
  std::vector<Variable> variables = drawn(12, 1).variables;
  const std::vector<double> response = drawn(12, 1).response;
  variables.push_back({"sum", {}});
  for (std::size_t i = 0; i < 12; ++i)
    variables.back().values.push_back(2 * variables[0].values[i] - variables[2].values[i] + 7);
  const std::string problem = problem_of(regress(variables, response));
  EXPECT_THAT(problem, HasSubstr("'a', 'c' and 'sum' are collinear"));
  EXPECT_THAT(problem, Not(HasSubstr("'b'")));
  variables.back() = {"same", std::vector<double>(12, 0.1)};
  EXPECT_THAT(problem_of(regress(variables, response)), HasSubstr("'same' is constant"));
}

TEST(Regression, RejectsInvalidValuesAndLengths) {
  const std::vector<double> response{1, 2, 3, 4};
  const auto problem_with = [&](std::vector<double> values) {
    const std::vector<Variable> variables{{"x", std::move(values)}};
    return problem_of(regress(variables, response));
  };
  EXPECT_THAT(problem_with({1, 2, 3}), HasSubstr("'x' has 3 values for 4 points"));
  EXPECT_THAT(problem_with({1, 2, NAN, 4}), HasSubstr("'x' has values that are not finite"));
  const std::vector<Variable> good{{"x", {1, 2, 3, 5}}};
  EXPECT_THAT(problem_of(regress(good, std::vector<double>{1, 2, 3, INFINITY})),
              HasSubstr("the response has values that are not finite"));
}

// ---- cross-validation

TEST(CrossValidation, LeaveOneOutMatchesTheClosedForm) {
  // The residual without a point is its residual / (1 - its leverage).
  const std::vector<double> x{1, 2, 4, 7, 8, 11}, y{2, 3, 7, 6, 12, 13};
  const std::vector<Variable> one{{"x", x}};
  const Result<Regression> fit = regress(one, y);
  const Result<CrossValidation> crossed = cross_validate(one, y, 6);
  ASSERT_TRUE(fit && crossed) << problem_of(crossed);
  double squares = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    const double leverage = 1.0 / 6 + (x[i] - 5.5) * (x[i] - 5.5) / 73.5;
    const double residual = (y[i] - fit->predict(std::vector<double>{x[i]})) / (1 - leverage);
    EXPECT_NEAR(y[i] - crossed->predicted[i], residual, 1e-12);
    squares += residual * residual;
  }
  expect_close(crossed->rmse, std::sqrt(squares / 6), 1e-12);
}

TEST(CrossValidation, FoldsAreTakenInTurn) {
  // Without fold 0 (points 0, 2, 4) the line is 10 + x, without fold 1 it is x.
  const std::vector<Variable> one{{"x", {0, 1, 2, 3, 4, 5}}};
  const Result<CrossValidation> crossed = cross_validate(one, std::vector<double>{0, 11, 2, 13, 4, 15}, 2);
  ASSERT_TRUE(crossed) << problem_of(crossed);
  const double expected[] = {10, 1, 12, 3, 14, 5};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(crossed->predicted[i], expected[i], 1e-12);
  expect_close(crossed->rmse, 10, 1e-12);
}

TEST(CrossValidation, RejectsImpossibleFolds) {
  const Drawn data = drawn(8, 1);
  EXPECT_THAT(problem_of(cross_validate(data.variables, data.response, 1)), HasSubstr("in 1 folds"));
  EXPECT_THAT(problem_of(cross_validate(data.variables, data.response, 9)), HasSubstr("in 9 folds"));
  // 4 points in each half are too few for three variables.
  EXPECT_THAT(problem_of(cross_validate(data.variables, data.response, 2)), HasSubstr("too few points"));
}

// ---- correlation

TEST(Correlation, MatchesManualResults) {
  const std::vector<double> a{1, 2, 3, 4}, b{1, 3, 2, 4};
  expect_close(*pearson(a, b), 0.8, 1e-14);
  expect_close(*spearman(a, b), 0.8, 1e-14);
  EXPECT_EQ(*spearman(a, std::vector<double>{1, 10, 1e3, 1e9}), 1);
  EXPECT_EQ(*spearman(a, std::vector<double>{4, 3, 2, -7}), -1);
  EXPECT_LT(*pearson(a, std::vector<double>{1, 10, 1e3, 1e9}), 0.8);
}

TEST(Correlation, EqualValuesShareTheirRank) {
  EXPECT_EQ(ranks(std::vector<double>{5, 1, 5, 0, 5}), (std::vector<double>{4, 2, 4, 1, 4}));
  // Ranks 1, 2.5, 2.5, 4 against 1, 3, 2, 4: covariance 4.5, variances 4.5 and 5.
  expect_close(*spearman(std::vector<double>{1, 2, 2, 3}, std::vector<double>{1, 3, 2, 4}),
               std::sqrt(4.5 / 5), 1e-14);
}

TEST(Correlation, RejectsInvalidSeries) {
  const std::vector<double> a{1, 2, 3};
  EXPECT_THAT(problem_of(pearson(a, std::vector<double>{1, 2})), HasSubstr("3 and 2 points"));
  EXPECT_THAT(problem_of(spearman(a, std::vector<double>{5, 5, 5})), HasSubstr("does not vary"));
  EXPECT_THAT(problem_of(pearson(std::vector<double>{1}, std::vector<double>{1})), HasSubstr("two points"));
  EXPECT_THAT(problem_of(geometric_mean(std::vector<double>{1, 0})), HasSubstr("above 0"));
  expect_close(*geometric_mean(std::vector<double>{1, 4, 16}), 4, 1e-14);
}

}  // namespace
}  // namespace lynxpp::models::statistics
