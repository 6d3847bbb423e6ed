// Compares two texts line by line, side by side.
#pragma once

#include <string_view>
#include <vector>

namespace lynxpp::cli {

/// A row: the line of the first text, of the second, or the common one. Lines have no newline.
struct DiffRow {
  bool in_first = false;
  bool in_second = false;
  std::string_view text;
};

/// Returns both texts in order; common lines share a row. Uses patience diff: lines that are unique in both
/// texts are matched first, so that an instruction is not matched with an identical one elsewhere. Blanks
/// around a line do not count. Borrows the texts.
std::vector<DiffRow> diff_lines(std::string_view first, std::string_view second);

}  // namespace lynxpp::cli
