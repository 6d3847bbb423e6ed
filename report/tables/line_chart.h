// Lines over one axis as SVG.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lynxpp::report {

struct LineChart {
  std::string title;
  std::string x_label;
  std::string y_label;
  struct Point {
    double x = 0;
    double y = 0;
  };
  struct Line {
    std::string name;
    std::string colour;  ///< "#rrggbb"
    std::vector<Point> points;
  };
  std::vector<Line> lines;
  std::optional<Point> mark;  ///< a star
  std::string mark_name;
};

/// Returns a whole <svg> element. The vertical axis begins at 0 and fits the largest value; the legend has
/// the lines' names, and each point has a <title> with its values. Precondition: at least one point is above
/// 0.
std::string svg_of(const LineChart& chart);

}  // namespace lynxpp::report
