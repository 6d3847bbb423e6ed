// Two texts, line by line, side by side.
#pragma once

#include <string_view>
#include <vector>

namespace lynxpp::cli {

/// One row: the line of the first text, of the second, or the one both have. A line's text has no newline.
struct DiffRow {
  bool in_first = false;
  bool in_second = false;
  std::string_view text;
};

/// Both texts in order, lines they share in one row. Patience diff: lines that are unique in both texts are
/// matched first, so that an instruction is not mistaken for another of the same words. Blanks around a line
/// do not count. Borrows the texts.
std::vector<DiffRow> diff_lines(std::string_view first, std::string_view second);

}  // namespace lynxpp::cli
