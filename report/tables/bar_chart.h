// Horizontal bars as SVG.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/number.h"

namespace lynxpp::report {

struct BarChart {
  std::string title;
  std::string unit;
  struct Bar {
    std::string label;
    Number value;
  };
  std::vector<Bar> bars;
};

/// Escapes text for an attribute or between tags of HTML and SVG; control characters become '?'.
std::string escaped(std::string_view text);

/// Returns the chart's height in pixels.
std::size_t height_of(const BarChart& chart);
inline constexpr std::size_t chart_width = 760;

/// Returns the content of an <svg> element with the chart's upper edge at `top`. Bars begin at zero; values
/// that are not finite have none. Each bar has a <title> with its exact value.
std::string svg_of(const BarChart& chart, std::size_t top);

}  // namespace lynxpp::report
