// The summary as a page, and its numbers as bars.
#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "report/coverage_share.h"
#include "report/findings/findings.h"
#include "report/hot_sites.h"
#include "report/limits/limits.h"
#include "report/sites.h"
#include "report/summary.h"
#include "report/tables/bar_chart.h"
#include "report/tables/heat_map.h"
#include "report/tables/row_table.h"
#include "support/text.h"

namespace lynxpp::report {
namespace {

/// Returns the kernel's name and the program's ranges in which it was launched.
std::string title_of(const KernelTotals& kernel) {
  const std::string path = path_of(kernel.ranges);
  return demangle(kernel.kernel) + (path.empty() ? "" : " in " + path);
}

constexpr std::size_t page_sites = 25;

/// Returns stacked panels, one for each numeric result.
std::vector<BarChart> charts_of(const SpecificationTotals& totals) {
  std::vector<BarChart> charts;
  for (const ScalarColumn& column : totals.columns) {
    BarChart chart{column.name, column.unit, {}};
    for (const KernelTotals& kernel : totals.kernels) {
      const auto value = kernel.scalars.find(column.name);
      if (value != kernel.scalars.end()) chart.bars.push_back({title_of(kernel), value->second.value()});
    }
    charts.push_back(std::move(chart));
  }
  return charts;
}

std::string svg_of(const std::vector<BarChart>& charts) {
  std::size_t height = 0;
  std::string inside;
  for (const BarChart& chart : charts) {
    inside += svg_of(chart, height);
    height += height_of(chart);
  }
  const std::string size = "width=\"" + std::to_string(chart_width) + "\" height=\"" +
                           std::to_string(height) + "\" viewBox=\"0 0 " + std::to_string(chart_width) + " " +
                           std::to_string(height) + "\"";
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" " + size +
         " font-family=\"sans-serif\" font-size=\"12\">\n" +
         "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n" + inside + "</svg>\n";
}

std::string cell(std::string_view text, bool is_text = false) {
  return std::string(is_text ? "<td class=\"text\">" : "<td>") + escaped(text) + "</td>";
}

std::string heading(std::string_view text, std::string_view detail = "", bool is_text = false) {
  std::string html = std::string(is_text ? "<th class=\"text\">" : "<th>") + escaped(text);
  if (!detail.empty()) html += "<br><span class=\"unit\">" + escaped(detail) + "</span>";
  return html + "</th>";
}

std::string kernel_rows(const SpecificationTotals& totals) {
  std::string html =
      "<table><tr>" + heading("kernel", "", true) + heading("launches") + heading("grid") + heading("block");
  for (const ScalarColumn& column : totals.columns) {
    const std::string fold(name_of(column.fold));
    html += heading(column.name, column.unit.empty() ? fold : column.unit + ", " + fold);
  }
  html += "</tr>\n";
  for (const KernelTotals& kernel : totals.kernels) {
    html += "<tr>" + cell(title_of(kernel), true) + cell(to_text(Number::of(kernel.launches))) +
            cell(to_text(kernel.grid)) + cell(to_text(kernel.block));
    for (const ScalarColumn& column : totals.columns) {
      const auto value = kernel.scalars.find(column.name);
      html += cell(value == kernel.scalars.end() ? "" : to_text(value->second, column.name, column.unit));
    }
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

std::string array_rows(const SpecificationTotals& totals) {
  std::string rows;
  for (const KernelTotals& kernel : totals.kernels) {
    for (const ArrayTotals& array : kernel.arrays) {
      rows += "<tr>" + cell(title_of(kernel), true) + cell(array.name, true) + cell(array.unit, true) +
              cell(to_text(Number::of(array.elements))) + cell(array.has_sum ? to_text(array.sum) : "") +
              cell(to_text(array.least, array.name, array.unit)) +
              cell(to_text(array.greatest, array.name, array.unit)) + "</tr>\n";
    }
  }
  if (rows.empty()) return {};
  return "<details><summary>Arrays</summary><table><tr>" + heading("kernel", "", true) +
         heading("array", "", true) + heading("unit", "", true) + heading("elements") + heading("sum") +
         heading("least") + heading("greatest") + "</tr>\n" + rows + "</table></details>\n";
}

/// True if the array has one value per label.
bool is_named(const ArrayTotals& array) {
  return !array.labels.empty() && array.extents.size() == 1 && !array.each.empty();
}

/// Returns the headings of the elements of an array's row.
std::vector<std::string> element_headings(const ArrayTotals& array, std::size_t inner) {
  const bool has_bins = !array.bounds.empty() && array.bounds.size() == inner + 1;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < inner; ++i)
    names.push_back(has_bins ? "from " + std::to_string(array.bounds[i]) : std::to_string(i));
  return names;
}

/// Renders the elements, a row for each first index; larger values are darker.
std::string element_rows(const std::string& kernel, const ArrayTotals& array) {
  constexpr std::size_t most = 4096;
  if (array.each.empty() || array.site_kind || is_named(array) || array.each.size() > most) return {};
  const std::size_t rows = array.extents.size() == 1 && array.labels.empty() ? 1 : array.extents[0];
  const std::size_t inner = array.each.size() / rows;
  const double greatest = array.greatest.value().as_double();
  std::string html = "<details><summary>" + escaped(kernel + ": " + array.name) + "</summary><table><tr>" +
                     heading("", array.unit, true);
  for (const std::string& name : element_headings(array, inner)) html += heading(name);
  html += "</tr>\n";
  for (std::size_t row = 0; row < rows; ++row) {
    const std::string name = row < array.labels.size() ? array.labels[row] : std::to_string(row);
    html += "<tr>" + cell(rows == 1 && array.labels.empty() ? "" : name, true);
    for (std::size_t i = row * inner; i < (row + 1) * inner; ++i) {
      const double share = greatest > 0 ? array.each[i].value().as_double() / greatest : 0;
      const double depth = share > 0 ? std::min(share, 1.0) : 0;
      const std::string shade = to_text(Number::of(static_cast<WideInteger>(depth * 50)));
      html += "<td style=\"background:rgba(59,110,165," + std::string(shade.size() == 1 ? "0.0" : "0.") +
              shade + ")\">" + escaped(to_text(array.each[i], array.name, array.unit)) + "</td>";
    }
    html += "</tr>\n";
  }
  return html + "</table></details>\n";
}

/// Renders the columns of one table side by side.
std::string named_rows(const std::string& kernel, const KernelTotals& totals) {
  std::string html;
  std::vector<const ArrayTotals*> left;
  for (const ArrayTotals& array : totals.arrays) {
    if (is_named(array)) left.push_back(&array);
  }
  while (!left.empty()) {
    const ArrayTotals& first = *left.front();
    const auto is_beside = [&first](const ArrayTotals* array) {
      return array->table == first.table && array->labels == first.labels;
    };
    std::vector<const ArrayTotals*> columns;
    std::ranges::copy_if(left, std::back_inserter(columns), is_beside);
    const std::string name = first.table.empty() ? first.name : first.table;
    html += "<h3>" + escaped(kernel + ": " + name) + "</h3>\n<table><tr>" + heading("", "", true);
    for (const ArrayTotals* array : columns) {
      const std::string fold(name_of(array->fold));
      html += heading(array->name.substr(array->table.empty() ? 0 : array->table.size() + 1),
                      array->unit.empty() ? fold : array->unit + ", " + fold);
    }
    html += "</tr>\n";
    for (std::size_t row = 0; row < first.labels.size(); ++row) {
      html += "<tr>" + cell(first.labels[row], true);
      for (const ArrayTotals* array : columns)
        html += cell(to_text(array->each[row], array->name, array->unit));
      html += "</tr>\n";
    }
    html += "</table>\n";
    std::erase_if(left, is_beside);
  }
  return html;
}

std::string table_rows(const std::string& kernel, const TableTotals& table) {
  constexpr std::size_t page_rows = 100;
  const TableCells cells = cells_of(table, page_rows);
  std::string html = "<h3>" + escaped(kernel + ": " + table.name()) + "</h3>\n<table><tr>";
  for (const TableCells::Column& column : cells.columns) html += heading(column.name, column.detail);
  html += "</tr>\n";
  for (const std::vector<std::string>& row : cells.rows) {
    html += "<tr>";
    for (const std::string& each : row) html += cell(each);
    html += "</tr>\n";
  }
  html += "</table>\n";
  if (cells.further != 0) html += "<p>and " + to_text(Number::of(cells.further)) + " more</p>\n";
  return html;
}

std::string site_rows(const std::string& kernel, const HotSites& hot) {
  if (hot.rows.empty()) return {};
  const bool by_instruction = hot.kind == SiteKind::instruction;
  std::string html = "<h3>" + escaped(kernel) + ": the hottest " +
                     (by_instruction ? "instructions" : "basic blocks") + "</h3>\n<table><tr>" +
                     heading(by_instruction ? "instruction" : "block") + heading("opcode", "", true) +
                     heading("function", "", true) + heading("source", "", true) + heading("PTX line");
  for (const ArrayTotals* array : hot.arrays) html += heading(array->name, array->unit);
  html += "</tr>\n";
  for (const SiteLabel& row : hot.rows) {
    html += "<tr>" + cell(std::to_string(row.id)) + cell(row.opcode, true) + cell(row.function, true) +
            cell(row.source(), true) + cell(row.ptx_line == 0 ? "" : std::to_string(row.ptx_line));
    for (const ArrayTotals* array : hot.arrays)
      html += cell(row.id < array->each.size() ? to_text(array->each[row.id], array->name, array->unit) : "");
    html += "</tr>\n";
  }
  html += "</table>\n";
  if (hot.further != 0) html += "<p>and " + std::to_string(hot.further) + " more</p>\n";
  return html;
}

std::string section(const SpecificationTotals& totals, const Summary& summary) {
  std::string html = "<h2>" + escaped(totals.spec) + " <span class=\"unit\">on " + escaped(totals.device) +
                     "</span></h2>\n" + kernel_rows(totals);
  if (const std::vector<BarChart> charts = charts_of(totals); !charts.empty()) html += svg_of(charts);
  for (const KernelTotals& kernel : totals.kernels) {
    for (const HotSites& hot : hot_sites_of(kernel, summary.sites_of(kernel), page_sites))
      html += site_rows(title_of(kernel), hot);
    html += named_rows(title_of(kernel), kernel);
    for (const TableTotals& table : kernel.tables) html += table_rows(title_of(kernel), table);
    for (const NoteTotals& note : kernel.notes)
      html += "<p class=\"note\">" + escaped(title_of(kernel) + ": " + to_text(note)) + "</p>\n";
  }
  html += array_rows(totals);
  for (const KernelTotals& kernel : totals.kernels) {
    for (const ArrayTotals& array : kernel.arrays) html += element_rows(title_of(kernel), array);
  }
  return html;
}

/// Renders what ON_END emitted.
std::string total_section(const Summary& summary) {
  std::string html;
  for (const TotalRecord& record : summary.totals) {
    html += "<h2>" + escaped(record.spec) + " <span class=\"unit\">all launches</span></h2>\n<table>";
    for (const ResultValue& result : record.results) {
      const std::size_t shown = std::min<std::size_t>(size_of(result.values), 64);
      html += "<tr>" + cell(result.name, true) + cell(result.unit, true);
      for (std::size_t i = 0; i < shown; ++i) html += cell(to_text(number_at(result, i)));
      html += "</tr>\n";
    }
    html += "</table>\n";
    for (const std::string& note : record.notes) html += "<p class=\"note\">" + escaped(note) + "</p>\n";
  }
  return html;
}

/// Renders the share of the run that was counted, unless everything was.
std::string share_section(const Summary& summary) {
  std::string html;
  for (const std::string& line : split(coverage_share_text(coverage_share_of(summary), "below"), '\n')) {
    if (!line.empty()) html += "<p>" + escaped(line) + "</p>\n";
  }
  return html;
}

std::string coverage_section(const Summary& summary) {
  std::string rows;
  for (const CoverageRecord& record : summary.coverage) {
    const std::string gap = gap_of(record);
    if (gap.empty()) continue;
    const auto& shape = record.shape;
    const std::optional<double> time = shape ? uncounted_milliseconds(summary, record) : std::nullopt;
    rows += "<tr>" + cell(demangle(record.kernel), true) + cell(to_text(Number::of(record.launches))) +
            cell(to_text(Number::of(record.instrumented_launches))) +
            cell(shape ? shape_of(shape->grid) : "") + cell(shape ? shape_of(shape->block) : "") +
            cell(shape && shape->registers != 0 ? to_text(Number::of(shape->registers)) : "") +
            cell(time ? to_text(Number::of_real(*time)) : "") + cell(gap, true) + "</tr>\n";
  }
  if (rows.empty()) return {};
  return "<h2>Not instrumented</h2>\n<table><tr>" + heading("kernel", "", true) + heading("launches") +
         heading("instrumented") + heading("grid") + heading("block") + heading("registers") +
         heading("ms", "estimated") + heading("reason", "", true) + "</tr>\n" + rows + "</table>\n";
}

/// Returns a note on the machine if execution times are modelled; else empty.
std::string execute_unit(const Summary& summary) {
  for (const TimingRecord& record : summary.timings) {
    if (!record.modelled.empty()) return "modelled for " + record.modelled;
  }
  return {};
}

std::string timing_section(const Summary& summary) {
  if (summary.timings.empty()) return {};
  std::string html = "<h2>Time <span class=\"unit\">milliseconds</span></h2>\n<table><tr>" +
                     heading("kernel", "", true) + heading("parse") + heading("instrument") +
                     heading("emit") + heading("load") + heading("execute", execute_unit(summary)) +
                     "</tr>\n";
  for (const TimingRecord& record : summary.timings) {
    html += "<tr>" + cell(demangle(record.kernel), true);
    for (const double phase : {record.parse, record.instrument, record.emit, record.load, record.execute})
      html += cell(to_text(Number::of_real(phase)));
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

}  // namespace

std::string to_html(const Summary& summary, const std::string& title) {
  const RunFacts facts = facts_of(summary);
  std::string html = share_section(summary);
  const std::vector<KernelFinding> findings = findings_of(facts);
  html += findings_html(findings, facts.weight);
  html += limits_html(facts.limits);
  html += advice_html(summary.words.advice());
  for (const SpecificationTotals& totals : summary.specifications) html += section(totals, summary);
  html += total_section(summary) + coverage_section(summary) + timing_section(summary);
  if (summary.specifications.empty()) html += "<p>The records contain no instrumented launch.</p>\n";
  const std::string trust = trust_line_of(summary, !findings.empty());
  if (!trust.empty()) html += "<p class=\"note\">" + escaped(trust) + "</p>\n";
  return html_page(title, html);
}

std::string to_svg(const Summary& summary) {
  std::vector<BarChart> charts;
  for (const SpecificationTotals& totals : summary.specifications) {
    for (BarChart& chart : charts_of(totals)) {
      chart.title = totals.spec + " on " + totals.device + ": " + chart.title;
      charts.push_back(std::move(chart));
    }
  }
  return svg_of(charts);
}

}  // namespace lynxpp::report
