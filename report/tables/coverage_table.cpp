#include "report/tables/coverage_table.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "report/coverage_share.h"
#include "report/kernel_name.h"
#include "report/number.h"
#include "report/tables/named_table.h"
#include "report/tables/row_table.h"
#include "support/text.h"

namespace lynxpp::report {
namespace {

std::string number_text(std::uint64_t value) { return to_text(Number::of(value)); }

/// Returns columns with known facts of kernels that could not be instrumented; omits empty columns.
std::vector<TextColumn> known_columns(const Summary& summary,
                                      const std::vector<const CoverageRecord*>& gaps) {
  TextColumn grid{{"grid"}, {}};
  TextColumn block{{"block"}, {}};
  TextColumn registers{{"registers"}, {}};
  TextColumn milliseconds{{"ms", "(estimated)"}, {}};
  for (const CoverageRecord* record : gaps) {
    const auto& shape = record->shape;
    grid.cells.push_back(shape ? (shape->differs ? "varies" : shape_of(shape->grid)) : "");
    block.cells.push_back(shape ? (shape->differs ? "varies" : shape_of(shape->block)) : "");
    registers.cells.push_back(shape && shape->registers != 0 ? number_text(shape->registers) : "");
    const std::optional<double> time = shape ? uncounted_milliseconds(summary, *record) : std::nullopt;
    milliseconds.cells.push_back(time ? to_text(Number::of_real(*time)) : "");
  }
  std::vector<TextColumn> columns{grid, block, registers, milliseconds};
  std::erase_if(columns,
                [](const TextColumn& each) { return std::ranges::all_of(each.cells, &std::string::empty); });
  return columns;
}

/// Lists reasons that several kernels share once, below the table.
std::string shorten_reasons(TextColumn& reasons) {
  constexpr std::size_t short_enough = 24;
  std::map<std::string, std::size_t> uses;
  for (const std::string& each : reasons.cells) ++uses[each];
  std::map<std::string, std::size_t> numbers;
  std::string legend;
  for (std::string& each : reasons.cells) {
    if (uses[each] == 1 || width_of(each) <= short_enough) continue;
    const auto [known, is_new] = numbers.try_emplace(each, numbers.size() + 1);
    const std::string mark = "[" + std::to_string(known->second) + "]";
    if (is_new) legend += "  " + mark + " " + each + "\n";
    each = mark;
  }
  return legend;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// Returns the specifications that each kernel ran without; nullopt if all kernels have the same ones.
std::optional<TextColumn> specification_column(const Summary& summary,
                                               const std::vector<const CoverageRecord*>& gaps) {
  const auto differs = [&](const CoverageRecord& each) {
    return each.specs != summary.coverage.front().specs;
  };
  if (std::ranges::none_of(summary.coverage, differs)) return std::nullopt;
  TextColumn specs{{"specifications"}, {}, false};
  for (const CoverageRecord* record : gaps) specs.cells.push_back(printable(joined(record->specs)));
  return specs;
}

std::string render_gaps(const Summary& summary, const TableOptions& options) {
  constexpr std::size_t most = 10;
  std::vector<const CoverageRecord*> gaps;
  for (const CoverageRecord& record : summary.coverage) {
    if (!gap_of(record).empty()) gaps.push_back(&record);
  }
  if (gaps.empty()) return {};
  std::size_t further = 0;
  if (gaps.size() > most && !options.is_whole) {
    std::ranges::stable_sort(gaps, std::greater<>(), [&](const CoverageRecord* record) {
      return std::pair(uncounted_milliseconds(summary, *record).value_or(0), record->launches);
    });
    further = gaps.size() - most;
    gaps.resize(most);
  }
  TextColumn launches{{"launches"}, {}};
  TextColumn reason{{"reason"}, {}, false};
  std::vector<std::string> names;
  for (const CoverageRecord* record : gaps) {
    const std::uint64_t missed = record->launches - std::min(record->instrumented_launches, record->launches);
    const bool is_partial = record->instrumented_launches != 0 && missed != 0;
    launches.cells.push_back(is_partial ? number_text(missed) + " of " + number_text(record->launches)
                                        : number_text(record->launches));
    reason.cells.push_back(gap_of(*record));
    names.push_back(demangle(record->kernel));
  }
  const std::string legend = shorten_reasons(reason);
  std::vector<TextColumn> columns = known_columns(summary, gaps);
  if (std::optional<TextColumn> specs = specification_column(summary, gaps))
    columns.insert(columns.begin(), std::move(*specs));
  columns.insert(columns.begin(), launches);
  columns.push_back(reason);
  // The reason comes last and may exceed the line, but leaves half of it for the name.
  const std::size_t room = std::max(room_for_names(columns, options.width), options.width / 2);
  return "== lynxpp: not instrumented ==\n" + render_with_names(names, columns, room) + legend +
         (further == 0 ? "" : further_line(further, most));
}

/// "2 kernels: PTX from the debug section of the cubin", for each origin except the program image.
std::string render_origins(const std::vector<CoverageRecord>& records) {
  std::map<std::string_view, std::uint64_t> kernels;
  for (const CoverageRecord& record : records) {
    if (record.instrumented && !record.ptx_origin.empty()) ++kernels[record.ptx_origin];
  }
  std::string text;
  for (const auto& [origin, number] : kernels) {
    text += "note: " + number_text(number) + (number == 1 ? " kernel" : " kernels") + ": PTX from " +
            printable(origin) + "\n";
  }
  return text;
}

std::string render_coverage_notes(const std::vector<CoverageRecord>& records, std::size_t width) {
  std::string text;
  for (const CoverageRecord& record : records) {
    for (const std::string& note : record.notes) {
      text += note_line(short_kernel_name(demangle(record.kernel), width / 2), note);
    }
  }
  return text;
}

}  // namespace

std::string render_coverage(const Summary& summary, const TableOptions& options) {
  return render_gaps(summary, options) + render_origins(summary.coverage) +
         render_coverage_notes(summary.coverage, options.width);
}

}  // namespace lynxpp::report
