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

/// Text for an attribute or between tags of HTML and SVG; control characters become '?'.
std::string escaped(std::string_view text);

/// Pixels the chart takes.
std::size_t height_of(const BarChart& chart);
inline constexpr std::size_t chart_width = 760;

/// The chart as the inside of an <svg> element, its upper edge at `top`. Bars begin at zero; what is no
/// finite number has none. Each has a <title> with its exact value.
std::string svg_of(const BarChart& chart, std::size_t top);

}  // namespace lynxpp::report
