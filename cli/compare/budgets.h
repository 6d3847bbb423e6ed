// Budgets: limits for results of kernels, read from a file.
//
//   [[budget]]
//   kernel = "^transpose"                             # regular expression for the C++ or mangled name
//   metric = "shared_bank_conflicts.load_wavefronts"  # SPECIFICATION.RESULT
//   at_most = 8192                                    # and/or at_least
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/number.h"
#include "report/summary.h"
#include "support/name_pattern.h"
#include "support/result.h"

namespace lynxpp::cli {

struct Budget {
  std::uint32_t line = 0;  ///< in the file
  NamePattern kernel;
  std::string specification;
  std::string result;  ///< a number, or an array that has a sum
  std::optional<report::Number> at_most;
  std::optional<report::Number> at_least;

  std::string metric() const { return specification + "." + result; }
};

/// Fails, with the line, if the file is not TOML, has other contents than budgets, or has no budget.
Result<std::vector<Budget>> read_budgets(const std::string& path);

/// A budget and one kernel that it matches.
struct BudgetRow {
  const Budget* budget = nullptr;
  std::string kernel;  ///< C++ name; if no kernel was compared, the budget's pattern
  std::uint64_t launches = 0;
  /// The sum over all launches, or their ratio. nullopt: nothing was compared, and `problem` says why.
  std::optional<report::Number> value;
  std::string problem;  ///< empty if the budget is kept
};

/// Compares each kernel that a budget matches. A budget that matches no measured kernel, or whose metric was
/// not measured in every launch, has a problem. A ratio without a value (its denominator is 0) is kept.
std::vector<BudgetRow> compare_with_budgets(const std::vector<Budget>& budgets,
                                            const report::Summary& summary);

/// Returns the number of budgets that have a problem.
std::size_t exceeded(const std::vector<BudgetRow>& rows);

/// Returns "at most 4,096", "at least 0.9", or both.
std::string limit_text(const Budget& budget);

}  // namespace lynxpp::cli
