// Values along an array as cells of one row, and the shell of a page that shows them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lynxpp::report {

struct HeatCell {
  double value = 0;
  std::string title;  ///< shown when the mouse is over it
};

/// Cells of equal width from left to right, as an <svg> element. Shades are those of `most` on a scale of
/// logarithms; a cell of 0 or less has the first one. `label` says what it shows to who cannot see it.
std::string heat_map(std::string_view label, const std::vector<HeatCell>& cells, double most);

/// What the shades of `most` stand for: "`what`: 0, above 0, from …".
std::string heat_legend(std::string_view what, double most);

/// A whole page with the style of tables and heat maps; `title` is plain text, `body` is HTML behind it.
std::string html_page(std::string_view title, const std::string& body);

}  // namespace lynxpp::report
