#include "report/tables/line_chart.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "report/tables/bar_chart.h"

namespace lynxpp::report {
namespace {

constexpr double plot_width = 760, plot_height = 420;
constexpr double left = 70, right = 20, top = 40, bottom = 90;

std::string decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}
std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

/// Returns 1, 2 or 5 times a power of ten, so that about `count` steps make `range`.
double step_of(double range, int count) {
  const double rough = range / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

struct Axes {
  double greatest_x = 1, greatest_y = 1;
  double x(double value) const { return left + value / greatest_x * (plot_width - left - right); }
  double y(double value) const {
    return plot_height - bottom - value / greatest_y * (plot_height - top - bottom);
  }
};

Axes axes_of(const LineChart& chart) {
  double x = 0, y = 0;
  const auto include = [&](const LineChart::Point& point) {
    x = std::max(x, point.x);
    y = std::max(y, point.y);
  };
  for (const LineChart::Line& line : chart.lines) std::ranges::for_each(line.points, include);
  if (chart.mark) include(*chart.mark);
  return {x > 0 ? x : 1, y > 0 ? y * 1.05 : 1};
}

std::string words(double x, double y, const char* anchor, const std::string& content,
                  const std::string& more = {}) {
  return "<text x=\"" + decimal(x) + "\" y=\"" + decimal(y) + "\" text-anchor=\"" + anchor + "\"" + more +
         ">" + escaped(content) + "</text>\n";
}

std::string straight(double x1, double y1, double x2, double y2, const char* colour) {
  return "<line x1=\"" + decimal(x1) + "\" y1=\"" + decimal(y1) + "\" x2=\"" + decimal(x2) + "\" y2=\"" +
         decimal(y2) + "\" stroke=\"" + colour + "\"/>\n";
}

std::string scales(const LineChart& chart, const Axes& axes) {
  std::string svg;
  const double y_step = step_of(axes.greatest_y, 6);
  for (double value = 0; value <= axes.greatest_y; value += y_step) {
    svg += straight(left, axes.y(value), plot_width - right, axes.y(value), "#e3e6ea");
    svg += words(left - 8, axes.y(value) + 4, "end", short_number(value));
  }
  const double x_step = std::max(1.0, step_of(axes.greatest_x, 16));
  for (double value = 0; value <= axes.greatest_x; value += x_step) {
    svg += straight(axes.x(value), axes.y(0), axes.x(value), axes.y(0) + 4, "#667");
    svg += words(axes.x(value), axes.y(0) + 18, "middle", short_number(value));
  }
  svg += straight(left, axes.y(0), plot_width - right, axes.y(0), "#667");
  svg += words((left + plot_width - right) / 2, axes.y(0) + 38, "middle", chart.x_label);
  const std::string turned =
      " transform=\"rotate(-90 16 " + decimal((top + plot_height - bottom) / 2) + ")\"";
  return svg + words(16, (top + plot_height - bottom) / 2, "middle", chart.y_label, turned);
}

std::string drawn(const LineChart::Line& line, const Axes& axes) {
  std::string points, dots;
  for (const LineChart::Point& point : line.points) {
    points += decimal(axes.x(point.x)) + "," + decimal(axes.y(point.y)) + " ";
    dots += "<circle cx=\"" + decimal(axes.x(point.x)) + "\" cy=\"" + decimal(axes.y(point.y)) +
            "\" r=\"2.5\" fill=\"" + line.colour + "\"><title>" +
            escaped(line.name + ", " + short_number(point.x) + ": " + short_number(point.y)) +
            "</title></circle>\n";
  }
  return "<polyline fill=\"none\" stroke=\"" + line.colour + "\" stroke-width=\"1.5\" points=\"" + points +
         "\"/>\n" + dots;
}

std::string star(const LineChart::Point& point, const std::string& name, const Axes& axes) {
  constexpr double pi = 3.14159265358979;
  std::string points;
  for (int i = 0; i < 10; ++i) {
    const double radius = i % 2 == 0 ? 8 : 3.2, angle = pi * i / 5 - pi / 2;
    points += decimal(axes.x(point.x) + radius * std::cos(angle)) + "," +
              decimal(axes.y(point.y) + radius * std::sin(angle)) + " ";
  }
  return "<polygon fill=\"#111\" points=\"" + points + "\"><title>" +
         escaped(name + ", " + short_number(point.x) + ": " + short_number(point.y)) + "</title></polygon>\n";
}

std::string legend(const LineChart& chart) {
  std::string svg;
  double x = left;
  constexpr double y = plot_height - 16;
  for (const LineChart::Line& line : chart.lines) {
    svg += "<rect x=\"" + decimal(x) + "\" y=\"" + decimal(y - 9) + "\" width=\"18\" height=\"4\" fill=\"" +
           line.colour + "\"/>\n" + words(x + 24, y - 4, "start", line.name);
    x += 40 + 7 * static_cast<double>(line.name.size());
  }
  return svg;
}

}  // namespace

std::string svg_of(const LineChart& chart) {
  const Axes axes = axes_of(chart);
  const std::string size = short_number(plot_width) + " " + short_number(plot_height);
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + short_number(plot_width) +
                    "\" height=\"" + short_number(plot_height) + "\" viewBox=\"0 0 " + size +
                    "\" font-family=\"sans-serif\" font-size=\"12\">\n" +
                    "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  svg += words(left, 22, "start", chart.title, " font-weight=\"bold\"");
  svg += scales(chart, axes);
  for (const LineChart::Line& line : chart.lines) svg += drawn(line, axes);
  if (chart.mark) svg += star(*chart.mark, chart.mark_name, axes);
  return svg + legend(chart) + "</svg>\n";
}

}  // namespace lynxpp::report
