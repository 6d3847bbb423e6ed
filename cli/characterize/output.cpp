#include "cli/characterize/output.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "report/kernel_name.h"
#include "report/number.h"
#include "report/tables/bar_chart.h"
#include "report/tables/csv.h"
#include "report/tables/text_table.h"
#include "support/trust.h"

namespace lynxpp::cli {
namespace {

constexpr std::size_t measures = measure_names.size();

std::string formatted(const char* format, double value) {
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  return text;
}
std::string shown(const std::optional<double>& value) { return value ? formatted("%.3f", *value) : "-"; }
std::string count(double value) {
  return report::to_text(report::Number::of(static_cast<report::WideInteger>(value)));
}

// ---- text

std::string kernel_table(const std::vector<KernelCharacter>& kernels, std::size_t width) {
  report::TextColumn program{{"program"}, {}, false}, name{{"kernel"}, {}, false}, launches{{"launches"}, {}},
      threads{{"thread", "instructions"}, {}}, warps{{"warp", "instructions"}, {}};
  std::vector<report::TextColumn> ratios;
  for (const char* each : measure_names) ratios.push_back({{each}, {}});
  std::vector<std::string> names;
  for (const KernelCharacter& kernel : kernels) {
    program.cells.push_back(report::printable(kernel.program));
    names.push_back(kernel.kernel);
    launches.cells.push_back(count(static_cast<double>(kernel.launches)));
    threads.cells.push_back(count(kernel.thread_instructions));
    warps.cells.push_back(count(kernel.warp_instructions));
    for (std::size_t i = 0; i < measures; ++i) ratios[i].cells.push_back(shown(kernel.measures[i]));
  }
  std::vector<report::TextColumn> columns{program, launches, threads, warps};
  columns.insert(columns.end(), ratios.begin(), ratios.end());
  std::size_t taken = report::width_between(columns.size() + 1);
  for (const report::TextColumn& each : columns) taken += each.width();
  constexpr std::size_t least = 24;
  const report::ShortNames shortened =
      report::short_kernel_names(names, taken + least < width ? width - taken : least);
  name.cells = shortened.names;
  columns.insert(columns.begin() + 1, name);
  std::string text = report::render_columns(columns);
  for (const std::string& line : shortened.legend) text += line + "\n";
  return text;
}

std::string correlation_table(const std::vector<KernelCharacter>& kernels) {
  report::TextColumn one{{"measure"}, {}, false}, other{{"measure"}, {}, false}, value{{"correlation"}, {}},
      points{{"kernels"}, {}};
  for (const MeasureCorrelation& each : correlations_of(kernels)) {
    one.cells.emplace_back(measure_names[each.one]);
    other.cells.emplace_back(measure_names[each.other]);
    value.cells.push_back(shown(each.value));
    points.cells.push_back(std::to_string(each.kernels));
  }
  return report::render_columns({one, other, value, points});
}

// ---- SVG

constexpr double panel = 170, gap = 14, left = 70, top = 46;
constexpr std::size_t bins = 10;
constexpr const char* colours[] = {"#3b6ea5", "#b3423a", "#3c8a4e", "#8a5fb0",
                                   "#c47f1f", "#4f9da6", "#7a6a58", "#c2588f"};
constexpr std::size_t colour_count = std::size(colours);

std::string at(double value) { return formatted("%.1f", value); }

std::string text_at(double x, double y, const std::string& text, const char* more = "") {
  return "<text x=\"" + at(x) + "\" y=\"" + at(y) + "\"" + more + ">" + report::escaped(text) + "</text>\n";
}

std::string bar_at(double x, double y, double width, double height, const std::string& more,
                   const std::string& title = {}) {
  const std::string inside = title.empty() ? "" : "<title>" + report::escaped(title) + "</title>";
  return "<rect x=\"" + at(x) + "\" y=\"" + at(y) + "\" width=\"" + at(width) + "\" height=\"" + at(height) +
         "\" " + more + ">" + inside + "</rect>\n";
}

class ScatterMatrix {
 public:
  explicit ScatterMatrix(const std::vector<KernelCharacter>& kernels) : kernels_(kernels) {
    for (const KernelCharacter& kernel : kernels) {
      if (std::ranges::find(programs_, kernel.program) == programs_.end())
        programs_.push_back(kernel.program);
      for (std::size_t i = 0; i < measures; ++i)
        most_[i] = std::max(most_[i], kernel.measures[i].value_or(0));
    }
  }

  std::string text() const {
    const double width = left + measures * (panel + gap) + 34;
    const double legend_top = top + measures * (panel + gap) + 34;
    const std::string size[] = {at(width), at(legend_top + 18.0 * static_cast<double>(programs_.size()))};
    std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + size[0] + "\" height=\"" +
                      size[1] + "\" viewBox=\"0 0 " + size[0] + " " + size[1] +
                      "\" font-family=\"sans-serif\" font-size=\"11\">\n"
                      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n" +
                      text_at(left, 22, "Kernels: each measure against each other",
                              " font-weight=\"bold\" font-size=\"14\"");
    for (std::size_t row = 0; row < measures; ++row) {
      for (std::size_t column = 0; column < measures; ++column) svg += panel_of(row, column);
    }
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      const double y = legend_top + 18.0 * static_cast<double>(i);
      svg += "<circle cx=\"" + at(left + 6) + "\" cy=\"" + at(y - 4) + "\" r=\"4\" fill=\"" +
             colours[i % colour_count] + "\"/>\n" + text_at(left + 16, y, programs_[i]);
    }
    return svg + "</svg>\n";
  }

 private:
  static double x_of(std::size_t column) { return left + static_cast<double>(column) * (panel + gap); }
  static double y_of(std::size_t row) { return top + static_cast<double>(row) * (panel + gap); }
  const char* colour_of(const KernelCharacter& kernel) const {
    const auto index = std::ranges::find(programs_, kernel.program) - programs_.begin();
    return colours[static_cast<std::size_t>(index) % colour_count];
  }

  std::string panel_of(std::size_t row, std::size_t column) const {
    const double x = x_of(column), y = y_of(row);
    std::string svg = bar_at(x, y, panel, panel, "fill=\"#f6f7f9\" stroke=\"#c9ced6\"");
    svg += row == column ? histogram(row) : dots(row, column);
    if (row + 1 == measures) {
      svg += text_at(x, y + panel + 13, "0") +
             text_at(x + panel, y + panel + 13, formatted("%.3g", most_[column]), " text-anchor=\"end\"") +
             text_at(x + panel / 2, y + panel + 15, measure_names[column],
                     " text-anchor=\"middle\" font-weight=\"bold\"");
    }
    if (column == 0) {
      const std::string turned = " text-anchor=\"middle\" font-weight=\"bold\" transform=\"rotate(-90 " +
                                 at(x - 34) + " " + at(y + panel / 2) + ")\"";
      svg += text_at(x - 34, y + panel / 2, measure_names[row], turned.c_str());
    }
    return svg + upward(row, column);
  }

  /// Returns the vertical scale of a row, next to its first plot; the first row begins with a histogram, so
  /// its scale is next to the last plot.
  std::string upward(std::size_t row, std::size_t column) const {
    if (column != (row == 0 ? measures - 1 : 0)) return {};
    const double x = row == 0 ? x_of(column) + panel + 5 : x_of(column) - 5, y = y_of(row);
    const char* const anchor = row == 0 ? "" : " text-anchor=\"end\"";
    return text_at(x, y + panel, "0", anchor) + text_at(x, y + 10, formatted("%.3g", most_[row]), anchor);
  }

  std::string dots(std::size_t row, std::size_t column) const {
    std::string svg;
    for (const KernelCharacter& kernel : kernels_) {
      if (!kernel.measures[row] || !kernel.measures[column]) continue;
      const double across = *kernel.measures[column], up = *kernel.measures[row];
      const double x = x_of(column) + 5 + (panel - 10) * across / most_[column];
      const double y = y_of(row) + panel - 5 - (panel - 10) * up / most_[row];
      svg += "<circle cx=\"" + at(x) + "\" cy=\"" + at(y) + "\" r=\"4\" fill=\"" + colour_of(kernel) +
             "\" fill-opacity=\"0.75\"><title>" +
             report::escaped(kernel.program + ": " + kernel.kernel + "\n" + measure_names[column] + " " +
                             shown(across) + ", " + measure_names[row] + " " + shown(up)) +
             "</title></circle>\n";
    }
    return svg;
  }

  /// Draws the distribution of a measure over the kernels.
  std::string histogram(std::size_t measure) const {
    std::array<std::size_t, bins> counts{};
    for (const KernelCharacter& kernel : kernels_) {
      if (!kernel.measures[measure]) continue;
      const double bin = *kernel.measures[measure] / most_[measure] * static_cast<double>(bins);
      ++counts[std::min(static_cast<std::size_t>(bin), bins - 1)];
    }
    const std::size_t most = std::max<std::size_t>(1, std::ranges::max(counts));
    std::string svg;
    const double width = (panel - 10) / static_cast<double>(bins);
    for (std::size_t bin = 0; bin < bins; ++bin) {
      if (counts[bin] == 0) continue;
      const double height = (panel - 26) * static_cast<double>(counts[bin]) / static_cast<double>(most);
      const double step = most_[measure] / static_cast<double>(bins);
      const std::string title = std::to_string(counts[bin]) +
                                (counts[bin] == 1 ? " kernel: " : " kernels: ") +
                                formatted("%.3g", step * static_cast<double>(bin)) + " to " +
                                formatted("%.3g", step * static_cast<double>(bin + 1));
      svg += bar_at(x_of(measure) + 5 + width * static_cast<double>(bin), y_of(measure) + panel - height,
                    width - 1, height, "fill=\"#9aa5b4\"", title);
    }
    return svg + text_at(x_of(measure) + 6, y_of(measure) + 15,
                         std::string(measure_names[measure]) + ": kernels, at most " + std::to_string(most));
  }

  const std::vector<KernelCharacter>& kernels_;
  std::vector<std::string> programs_;
  std::array<double, measures> most_{1, 1, 1, 1};
};

}  // namespace

std::string characterize_text(const std::vector<KernelCharacter>& kernels, std::size_t width) {
  using trust::Number;
  return kernel_table(kernels, width) + "\n" + correlation_table(kernels) + "\n" +
         report::wrapped(trust::line_of({Number::thread_counts, Number::branches, Number::sectors}), 0,
                         width);
}

std::string characterize_csv(const std::vector<KernelCharacter>& kernels) {
  std::string csv = "program,kernel,launches,thread_instructions,warp_instructions";
  for (const char* each : measure_names) csv += std::string(",") + each;
  csv += "\n";
  for (const KernelCharacter& kernel : kernels) {
    csv += report::csv_cell(kernel.program) + "," + report::csv_cell(kernel.kernel) + "," +
           std::to_string(kernel.launches) + "," + formatted("%.0f", kernel.thread_instructions) + "," +
           formatted("%.0f", kernel.warp_instructions);
    for (const std::optional<double>& each : kernel.measures)
      csv += "," + (each ? formatted("%.17g", *each) : "");
    csv += "\n";
  }
  return csv;
}

std::string characterize_svg(const std::vector<KernelCharacter>& kernels) {
  return ScatterMatrix(kernels).text();
}

}  // namespace lynxpp::cli
