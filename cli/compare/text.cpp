// Prints differences as aligned text.
#include <algorithm>
#include <set>

#include "cli/compare/output.h"
#include "report/kernel_name.h"
#include "report/tables/text_table.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

using report::Number;
using report::printable;
using report::TextColumn;

std::string title_of(const report::KernelTotals& kernel) {
  if (kernel.kernel.empty()) return "the whole program";
  const std::string path = report::path_of(kernel.ranges);
  return printable(demangle(kernel.kernel) + (path.empty() ? "" : " in " + path));
}

std::string cell_of(const std::optional<report::FoldedNumber>& value) {
  return value ? report::to_text(*value) : "absent";
}

std::string fraction_of(const std::optional<report::FoldedNumber>& value) {
  const std::optional<report::Fraction> fraction = value ? value->fraction() : std::nullopt;
  if (!fraction) return "";
  return report::to_text(fraction->numerator) + " / " + report::to_text(fraction->denominator);
}

std::string signed_text(const Number& difference) {
  const bool is_more = !difference.is_nan() && Number::of(0) < difference;
  return (is_more ? "+" : "") + report::to_text(difference);
}

/// Adds the column unless all its cells are empty.
void add_unless_empty(std::vector<TextColumn>& columns, TextColumn column) {
  const auto is_empty = [](const std::string& cell) { return cell.empty(); };
  if (!std::ranges::all_of(column.cells, is_empty)) columns.push_back(std::move(column));
}

void add_values(std::vector<TextColumn>& columns, const std::vector<const Change*>& changes) {
  TextColumn a{{"A"}, {}}, b{{"B"}, {}}, ratio{{"B / A"}, {}}, difference{{"B - A"}, {}};
  TextColumn fraction_a{{"A of sums"}, {}}, fraction_b{{"B of sums"}, {}};
  for (const Change* change : changes) {
    a.cells.push_back(cell_of(change->a));
    b.cells.push_back(cell_of(change->b));
    ratio.cells.push_back(report::to_text(change->ratio()));
    difference.cells.push_back(signed_text(change->difference()));
    fraction_a.cells.push_back(fraction_of(change->a));
    fraction_b.cells.push_back(fraction_of(change->b));
  }
  for (TextColumn* column : {&a, &b, &ratio, &difference, &fraction_a, &fraction_b})
    add_unless_empty(columns, std::move(*column));
}

std::string further_text(std::size_t further, const std::string& indent) {
  return further == 0 ? "" : indent + "… " + std::to_string(further) + " more changed\n";
}

std::size_t shown_of(std::size_t rows, std::size_t top) { return top == 0 ? rows : std::min(rows, top); }

std::string results_text(const KernelChange& kernel, std::size_t top) {
  const std::size_t shown = shown_of(kernel.results.size(), top);
  std::string text;
  if (shown != 0) {
    TextColumn name{{"result"}, {}, false}, unit{{"unit"}, {}, false};
    std::vector<const Change*> changes;
    for (std::size_t i = 0; i < shown; ++i) {
      name.cells.push_back(printable(kernel.results[i].name));
      unit.cells.push_back(printable(kernel.results[i].unit));
      changes.push_back(&kernel.results[i].change);
    }
    std::vector<TextColumn> columns{std::move(name)};
    add_values(columns, changes);
    add_unless_empty(columns, std::move(unit));
    text += report::render_columns(columns, 2);
  }
  return text + further_text(kernel.results.size() - shown, "  ");
}

std::vector<TextColumn> key_columns(const ArrayChange& array, std::size_t shown) {
  const bool is_block = array.kind == report::SiteKind::basic_block;
  TextColumn key{{"element"}, {}, false}, id{{is_block ? "block" : "instruction"}, {}};
  TextColumn opcode{{"opcode"}, {}, false}, function{{"function"}, {}, false};
  TextColumn line{{"PTX line"}, {}}, source{{"source"}, {}, false}, object{{"object"}, {}, false};
  for (std::size_t i = 0; i < shown; ++i) {
    const ElementChange& element = array.elements[i];
    const report::SiteLabel site = element.site.value_or(report::SiteLabel());
    key.cells.push_back(printable(element.key));
    id.cells.push_back(element.site && !array.is_folded ? std::to_string(site.id) : "");
    opcode.cells.push_back(printable(site.opcode));
    function.cells.push_back(printable(site.function));
    const bool has_line = site.ptx_line != 0 && !array.is_folded;
    line.cells.push_back(has_line ? std::to_string(site.ptx_line) : "");
    source.cells.push_back(printable(site.source()));
    object.cells.push_back(array.is_folded ? printable(site.object) : "");
  }
  // If all cells name the same function, it is the kernel, which the heading names.
  const std::set<std::string> functions(function.cells.begin(), function.cells.end());
  if (functions.size() == 1) function.cells.assign(shown, "");
  std::vector<TextColumn> columns;
  for (TextColumn* column : {&key, &id, &opcode, &object, &function, &line, &source})
    add_unless_empty(columns, std::move(*column));
  return columns;
}

std::string array_text(const ArrayChange& array, std::size_t top) {
  std::string text = "  " + printable(array.name);
  if (array.kind) text += array.kind == report::SiteKind::instruction ? " by instruction" : " by basic block";
  if (array.is_folded) text += " (the code differs: by opcode and object; source: of the largest)";
  if (!array.unit.empty()) text += ", " + printable(array.unit);
  const std::size_t shown = shown_of(array.elements.size(), top);
  std::vector<TextColumn> columns = key_columns(array, shown);
  std::vector<const Change*> changes;
  for (std::size_t i = 0; i < shown; ++i) changes.push_back(&array.elements[i].change);
  add_values(columns, changes);
  return text + ":\n" + report::render_columns(columns, 4) +
         further_text(array.elements.size() - shown, "    ");
}

std::string between(const std::string& what, const std::string& a, const std::string& b) {
  return "  " + what + " " + a + (a == b ? "" : " -> " + b);
}

std::string kernel_text(const KernelChange& change, std::size_t top) {
  const report::KernelTotals& a = *change.kernel.a;
  const report::KernelTotals& b = *change.kernel.b;
  std::string text = title_of(b);
  if (!a.kernel.empty()) {
    text += between("launches", std::to_string(a.launches), std::to_string(b.launches));
    text += between("grid", to_text(a.grid), to_text(b.grid));
    text += between("block", to_text(a.block), to_text(b.block));
  }
  text += "\n" + results_text(change, top);
  for (const ArrayChange& array : change.arrays) text += array_text(array, top);
  for (const std::string& note : change.notes.a) text += "  note only in A: " + printable(note) + "\n";
  for (const std::string& note : change.notes.b) text += "  note only in B: " + printable(note) + "\n";
  for (const std::string& each : change.not_compared) text += "  not compared: " + printable(each) + "\n";
  return text;
}

/// Returns a line for each kernel that is not in `known`, and adds it there.
std::string lone_text(const std::string& side, const std::vector<UnpairedKernel>& kernels,
                      std::set<std::string>& known) {
  std::string text;
  for (const UnpairedKernel& each : kernels) {
    const std::string line = "only in " + side + ": " + title_of(*each.kernel) +
                             (each.reason.empty() ? "" : " (in the other: " + each.reason + ")") + "\n";
    if (known.insert(line).second) text += line;
  }
  return text;
}

/// `known`: the lines about kernels of one file that other specifications have.
std::string specification_text(const SpecificationChange& change, std::size_t top,
                               std::set<std::string>& known) {
  const bool is_end = change.device.a.empty();
  std::string text = "\n== " + printable(change.spec);
  if (!is_end) {
    text += " on " + printable(change.device.a);
    if (change.device.a != change.device.b) text += " -> " + printable(change.device.b);
  }
  text += " ==\n";
  const std::size_t heading = text.size();
  const std::size_t shown = shown_of(change.kernels.size(), top);
  for (std::size_t i = 0; i < shown; ++i) text += kernel_text(change.kernels[i], top);
  if (shown != change.kernels.size())
    text += "… " + std::to_string(change.kernels.size() - shown) + " more changed kernels\n";
  text += lone_text("A", change.only.a, known) + lone_text("B", change.only.b, known);
  return text.size() == heading ? "" : text;
}

std::string budgets_text(const std::string& file, const std::vector<BudgetRow>& rows) {
  if (rows.empty()) return {};
  std::string text = "\n== budgets in " + printable(file) + " ==\n";
  for (const BudgetRow& row : rows) {
    text += std::string(row.problem.empty() ? "kept" : "FAILED") + ", line " +
            std::to_string(row.budget->line) + ": " + printable(row.budget->metric() + " of " + row.kernel);
    if (row.value) text += " is " + report::to_text(*row.value);
    text += row.problem.empty() ? ", " + limit_text(*row.budget) : ": " + printable(row.problem);
    text += "\n";
  }
  return text;
}

/// Counts the budgets in the first line.
std::string budgets_verdict(const std::vector<BudgetRow>& rows) {
  std::set<const Budget*> all;
  for (const BudgetRow& row : rows) all.insert(row.budget);
  if (all.empty()) return {};
  const std::size_t failed = exceeded(rows);
  return std::to_string(failed == 0 ? all.size() : failed) + " of " + std::to_string(all.size()) +
         (failed == 0 ? " budgets kept" : " budgets failed");
}

std::string findings_text(const Verdict& verdict) {
  std::string text;
  for (const KernelVerdict& kernel : verdict.kernels) {
    const auto add = [&](const std::string& word, const FindingChange& each) {
      const std::string location = location_text(each.finding);
      text += word + " " + std::to_string(each.number) + ": " +
              printable(each.finding.rule + ", " + report::short_kernel_name(kernel.kernel, 60) +
                        (location.empty() ? "" : ", " + location)) +
              "\n";
    };
    for (const FindingChange& each : kernel.gone) add("gone finding", each);
    for (const FindingChange& each : kernel.appeared) add("new finding", each);
  }
  return text;
}

}  // namespace

std::string to_text(const DiffResult& result, std::size_t top) {
  const std::string budgets = budgets_verdict(result.budgets);
  const std::string details = budgets_text(result.budget_file, result.budgets);
  const std::string trust = result.trust.empty() ? "" : "\n" + result.trust + "\n";
  if (result.files.b.empty()) return budgets + "\n" + details + trust;
  std::string text = to_text(result.verdict) + (budgets.empty() ? "" : "; " + budgets) + "\n";
  text += "A: " + printable(result.files.a) + "\nB: " + printable(result.files.b) + "\n";
  for (const std::string& each : result.failures) text += "FAILED, --fail-over: " + each + "\n";
  text += findings_text(result.verdict) + details;
  bool has_noise = false;
  std::set<std::string> known;
  for (const SpecificationChange& each : result.comparison.specifications) {
    text += specification_text(each, top, known);
    has_noise |= each.has_noise;
  }
  for (const std::string& each : result.comparison.only.a) text += "\nonly in A: " + printable(each) + "\n";
  for (const std::string& each : result.comparison.only.b) text += "\nonly in B: " + printable(each) + "\n";
  if (has_noise) text += "\nNot shown: times, clocks and SM numbers within the noise.\n";
  return text + trust;
}

}  // namespace lynxpp::cli
