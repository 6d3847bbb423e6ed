#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/compare/output.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/reports/arguments.h"
#include "report/reader.h"
#include "report/summary.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

/// Limit on the elements of an array or rows of a table that are compared one by one.
constexpr std::size_t compared_elements = 1 << 20;

/// Reads the records, skipping and reporting invalid lines. Returns false if the file cannot be read or has
/// no records.
bool read_summary(const std::string& path, report::SummarySink& sink) {
  const Result<report::Reading> reading = report::read_json_lines_file(path);
  if (!reading) {
    print(reading.error().diagnostics);
    return false;
  }
  print_reading(path, reading->records.size(), reading->diagnostics);
  report::replay(reading->records, sink);
  return !reading->records.empty();
}

}  // namespace

int diff(const DiffArguments& arguments) {
  report::SummarySink a(compared_elements);
  report::SummarySink b(compared_elements);
  const bool is_pair = !arguments.b.empty();
  const bool has_a = read_summary(arguments.a, a);
  const bool has_b = !is_pair || read_summary(arguments.b, b);
  if (!has_a || !has_b) return exit_input_error;
  std::vector<Budget> budgets;
  DiffResult result;
  result.files = {arguments.a, arguments.b};
  if (!arguments.budgets.empty()) {
    Result<std::vector<Budget>> read = read_budgets(arguments.budgets);
    if (!read) {
      std::string source;
      read_file(arguments.budgets, source);
      print(read.error().diagnostics, source);
      return exit_input_error;
    }
    budgets = std::move(*read);
    result.budget_file = arguments.budgets;
    result.budgets = compare_with_budgets(budgets, is_pair ? b.summary() : a.summary());
  }
  const Compared left(a.summary());
  const Compared right(b.summary());
  if (is_pair) {
    result.comparison = compare(left, right);
    result.verdict = verdict_of({&a.summary(), &b.summary()}, result.comparison);
    if (arguments.fail_over) result.failures = failures_of(result.verdict, *arguments.fail_over);
  }
  result.trust = report::trust_line_of(is_pair ? b.summary() : a.summary(), false);
  constexpr std::size_t rows_of_text = 20;
  const std::string text = arguments.json ? to_json(result, arguments.top.value_or(0))
                                          : to_text(result, arguments.top.value_or(rows_of_text));
  std::fwrite(text.data(), 1, text.size(), stdout);
  return result.is_failure() ? exit_limit_exceeded : exit_success;
}

}  // namespace lynxpp::cli
