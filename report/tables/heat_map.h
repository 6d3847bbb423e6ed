// Values along an array as cells of one row, and the frame of an HTML page.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lynxpp::report {

struct HeatCell {
  double value = 0;
  std::string title;  ///< tooltip
};

/// Returns an <svg> element with cells of equal width from left to right. Shades are logarithmic up to
/// `most`; a cell of 0 or less has the first one. `label` describes the picture for screen readers.
std::string heat_map(std::string_view label, const std::vector<HeatCell>& cells, double most);

/// Returns a legend of the shades: "`what`: 0, above 0, from …".
std::string heat_legend(std::string_view what, double most);

/// Returns a whole page with the style of tables and heat maps; `title` is plain text, `body` is HTML.
std::string html_page(std::string_view title, const std::string& body);

}  // namespace lynxpp::report
