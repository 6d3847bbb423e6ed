// The output of `lynxpp report diff`.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/compare/budgets.h"
#include "cli/compare/comparison.h"
#include "cli/compare/verdict.h"

namespace lynxpp::cli {

/// Everything that `lynxpp report diff` found.
struct DiffResult {
  Both<std::string> files;  ///< b is empty if one run was compared with budgets
  Comparison comparison;
  Verdict verdict;
  std::string budget_file;  ///< empty: none
  std::vector<BudgetRow> budgets;
  std::vector<std::string> failures;  ///< costs beyond --fail-over
  std::string trust;                  ///< report::trust_line_of()

  bool is_failure() const { return !failures.empty() || exceeded(budgets) != 0; }
};

/// `top`: rows of each list; 0: all. Begins with the verdict.
std::string to_text(const DiffResult& result, std::size_t top);

/// Returns one JSON object and a newline.
std::string to_json(const DiffResult& result, std::size_t top);

}  // namespace lynxpp::cli
