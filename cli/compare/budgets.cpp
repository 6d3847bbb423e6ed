#include "cli/compare/budgets.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "cli/compare/changes.h"
#include "report/totals.h"
#include "support/diagnostic.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

using report::Number;

constexpr const char* form =
    "a budget is [[budget]] with kernel = \"^mm\", metric = \"SPECIFICATION.RESULT\", and at_most = 4096 or "
    "at_least = 0.9";

/// Reads the budgets of one file.
class Reader {
 public:
  Reader(const std::string& path, const std::string& text) : path_(path), text_(text) {}

  Result<std::vector<Budget>> read() {
    const toml::parse_result parsed = toml::parse(text_, path_);
    if (!parsed) return fail(parsed.error().source(), std::string(parsed.error().description()));
    const toml::table& file = parsed.table();
    for (const auto& [key, value] : file) {
      if (key.str() != "budget")
        return fail(key.source(), "unknown key '" + std::string(key.str()) + "'", form);
    }
    const toml::array* const list = file["budget"].as_array();
    if (file.contains("budget") && list == nullptr)
      return fail(file["budget"].node()->source(), "'budget' must be an array of tables: [[budget]]", form);
    if (list == nullptr || list->empty())
      return fail({{1, 1}, {1, 1}, nullptr}, "the file has no budget", form);
    std::vector<Budget> budgets;
    for (const toml::node& each : *list) {
      Result<Budget> budget = read_one(each);
      if (!budget) return budget.error();
      budgets.push_back(std::move(*budget));
    }
    return budgets;
  }

 private:
  Failure fail(const toml::source_region& at, std::string message, std::string hint = {}) const {
    SourceLocation location{path_, at.begin.line, at.begin.column};
    return failure_at(std::move(location), std::move(message), std::move(hint));
  }

  Result<Budget> read_one(const toml::node& node) const {
    const toml::table* const table = node.as_table();
    if (table == nullptr) return fail(node.source(), "'budget' must be an array of tables: [[budget]]", form);
    static const std::vector<std::string> known = {"kernel", "metric", "at_most", "at_least"};
    for (const auto& [key, value] : *table) {
      const std::string name(key.str());
      if (std::ranges::count(known, name) == 0) return fail(key.source(), "unknown key '" + name + "'", form);
    }
    Result<NamePattern> kernel = kernel_of(*table);
    if (!kernel) return kernel.error();
    const toml::node* const metric = table->get("metric");
    if (metric == nullptr) return fail(table->source(), "the budget has no metric", form);
    const std::string name = metric->value_or(std::string());
    const std::size_t dot = name.rfind('.');
    if (dot == 0 || dot == std::string::npos || dot + 1 == name.size()) {
      return fail(metric->source(), "metric '" + name + "' is not SPECIFICATION.RESULT",
                  "for example instruction_count.warp_instructions; `lynxpp list` names the specifications");
    }
    Budget budget{
        table->source().begin.line, std::move(*kernel), name.substr(0, dot), name.substr(dot + 1), {}, {}};
    if (Status read = read_limit(*table, "at_most", budget.at_most); !read) return read.error();
    if (Status read = read_limit(*table, "at_least", budget.at_least); !read) return read.error();
    if (!budget.at_most && !budget.at_least)
      return fail(table->source(), "the budget has neither at_most nor at_least", form);
    return budget;
  }

  Result<NamePattern> kernel_of(const toml::table& table) const {
    const toml::node* const node = table.get("kernel");
    if (node == nullptr) return fail(table.source(), "the budget has no kernel", form);
    const std::optional<std::string> text = node->value<std::string>();
    if (!text) return fail(node->source(), "kernel is not a text", form);
    Result<NamePattern> pattern = NamePattern::parse(*text);
    if (!pattern) return fail(node->source(), pattern.error().diagnostics.front().message);
    return pattern;
  }

  Status read_limit(const toml::table& table, const char* name, std::optional<Number>& limit) const {
    const toml::node* const node = table.get(name);
    if (node == nullptr) return success();
    if (const auto* integer = node->as_integer()) {
      limit = Number::of(integer->get());
    } else if (const auto* real = node->as_floating_point(); real != nullptr && std::isfinite(real->get())) {
      limit = Number::of_real(real->get());
    } else {
      return fail(node->source(), std::string(name) + " is not a number");
    }
    return success();
  }

  const std::string& path_;
  const std::string& text_;
};

/// Returns the value of a number, or the sum of an array; nullopt if the kernel has no such result.
std::optional<Number> value_of(const report::KernelTotals& kernel, const std::string& result) {
  const auto scalar = kernel.scalars.find(result);
  if (scalar != kernel.scalars.end()) return scalar->second.value();
  const auto array = std::ranges::find(kernel.arrays, result, &report::ArrayTotals::name);
  if (array == kernel.arrays.end() || !array->has_sum) return std::nullopt;
  return array->sum.value();
}

/// Returns the names of the results that kernels of the budget have.
std::string known_results(const Budget& budget, const report::Summary& summary) {
  std::set<std::string> names;
  for (const report::SpecificationTotals& totals : summary.specifications) {
    if (totals.spec != budget.specification) continue;
    for (const report::KernelTotals& kernel : totals.kernels) {
      if (!budget.kernel.matches(kernel.kernel)) continue;
      for (const auto& [name, value] : kernel.scalars) names.insert(name);
      for (const report::ArrayTotals& array : kernel.arrays) {
        if (array.has_sum) names.insert(array.name);
      }
    }
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string problem_of(const Budget& budget, const Number& value) {
  const bool is_above = budget.at_most && *budget.at_most < value;
  const bool is_below = budget.at_least && value < *budget.at_least;
  if (value.is_nan() || (!is_above && !is_below)) return {};
  const Number& limit = is_above ? *budget.at_most : *budget.at_least;
  std::string problem = is_above ? "more than " : "less than ";
  problem += report::to_text(limit);
  if (limit.as_double() <= 0) return problem;
  return problem + " (" + growth_text(value.as_double() / limit.as_double() - 1) + ")";
}

/// Returns why nothing was compared.
std::string reason_without_values(const Budget& budget, const report::Summary& summary) {
  const auto matches = [&](const auto& each) { return budget.kernel.matches(each.kernel); };
  const bool has_spec = std::ranges::count(summary.specifications, budget.specification,
                                           &report::SpecificationTotals::spec) != 0;
  if (!has_spec) return "'" + budget.specification + "' was not measured in this run";
  if (const std::string names = known_results(budget, summary); !names.empty())
    return "no result '" + budget.result + "'; " + budget.specification + " has " + names;
  return std::ranges::any_of(summary.coverage, matches) ? "no launch was measured" : "no kernel matches";
}

void add_rows(const Budget& budget, const report::Summary& summary, std::vector<BudgetRow>& rows) {
  const std::size_t before = rows.size();
  for (const report::CoverageRecord& record : summary.coverage) {
    const std::string gap = report::gap_of(record);
    if (gap.empty() || !budget.kernel.matches(record.kernel)) continue;
    rows.push_back({&budget, demangle(record.kernel), record.launches, {}, "not measured: " + gap});
  }
  bool has_value = false;
  for (const report::SpecificationTotals& totals : summary.specifications) {
    if (totals.spec != budget.specification) continue;
    for (const report::KernelTotals& kernel : totals.kernels) {
      const std::optional<Number> value = value_of(kernel, budget.result);
      if (!value || !budget.kernel.matches(kernel.kernel)) continue;
      rows.push_back({&budget, demangle(kernel.kernel), kernel.launches, value, problem_of(budget, *value)});
      has_value = true;
    }
  }
  if (!has_value && rows.size() == before)
    rows.push_back({&budget, budget.kernel.text(), 0, {}, reason_without_values(budget, summary)});
}

}  // namespace

Result<std::vector<Budget>> read_budgets(const std::string& path) {
  std::string text;
  if (!read_file(path, text)) return failure(cannot_read(path));
  return Reader(path, text).read();
}

std::vector<BudgetRow> compare_with_budgets(const std::vector<Budget>& budgets,
                                            const report::Summary& summary) {
  std::vector<BudgetRow> rows;
  for (const Budget& budget : budgets) add_rows(budget, summary, rows);
  return rows;
}

std::size_t exceeded(const std::vector<BudgetRow>& rows) {
  std::set<const Budget*> budgets;
  for (const BudgetRow& row : rows) {
    if (!row.problem.empty()) budgets.insert(row.budget);
  }
  return budgets.size();
}

std::string limit_text(const Budget& budget) {
  std::string text;
  if (budget.at_least) text = "at least " + report::to_text(*budget.at_least);
  if (budget.at_most) text += (text.empty() ? "at most " : ", at most ") + report::to_text(*budget.at_most);
  return text;
}

}  // namespace lynxpp::cli
