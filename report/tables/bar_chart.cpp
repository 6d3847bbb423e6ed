#include "report/tables/bar_chart.h"

#include <algorithm>
#include <cmath>

#include "report/kernel_name.h"

namespace lynxpp::report {
namespace {

constexpr std::size_t label_width = 260;
constexpr std::size_t value_width = 110;
constexpr std::size_t row_height = 20;
constexpr std::size_t title_height = 34;
constexpr std::size_t margin = 12;
constexpr std::size_t label_characters = 38;

bool has_bar(const Number& value) { return std::isfinite(value.as_double()) && value.as_double() > 0; }

std::string text(std::size_t x, std::size_t y, std::string_view anchor, std::string_view content,
                 std::string_view more = "") {
  return "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" text-anchor=\"" +
         std::string(anchor) + "\"" + std::string(more) + ">" + escaped(content) + "</text>\n";
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string clean;
  for (const char c : printable(text)) {
    switch (c) {
      case '&': clean += "&amp;"; break;
      case '<': clean += "&lt;"; break;
      case '>': clean += "&gt;"; break;
      case '"': clean += "&quot;"; break;
      default: clean += c;
    }
  }
  return clean;
}

std::size_t height_of(const BarChart& chart) {
  return title_height + chart.bars.size() * row_height + margin;
}

std::string svg_of(const BarChart& chart, std::size_t top) {
  double greatest = 0;
  for (const BarChart::Bar& bar : chart.bars) {
    if (has_bar(bar.value)) greatest = std::max(greatest, bar.value.as_double());
  }
  const std::string unit = chart.unit.empty() ? "" : " (" + chart.unit + ")";
  std::string svg = text(margin, top + 20, "start", chart.title + unit, " font-weight=\"bold\"");
  constexpr std::size_t longest = chart_width - label_width - value_width;
  for (std::size_t i = 0; i < chart.bars.size(); ++i) {
    const BarChart::Bar& bar = chart.bars[i];
    const std::size_t y = top + title_height + i * row_height;
    const double share = has_bar(bar.value) ? bar.value.as_double() / greatest : 0;
    const auto length = static_cast<std::size_t>(std::lround(share * static_cast<double>(longest)));
    svg += text(label_width - 8, y + 14, "end", short_kernel_name(bar.label, label_characters));
    svg += "<rect x=\"" + std::to_string(label_width) + "\" y=\"" + std::to_string(y + 3) + "\" width=\"" +
           std::to_string(length) + "\" height=\"" + std::to_string(row_height - 6) +
           "\" fill=\"#3b6ea5\"><title>" + escaped(bar.label + ": " + to_text(bar.value)) +
           "</title></rect>\n";
    svg += text(label_width + length + 6, y + 14, "start", to_text(bar.value, NumberStyle::compact));
  }
  return svg;
}

}  // namespace lynxpp::report
