// Aligned columns of text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace lynxpp::report {

struct TextColumn {
  std::vector<std::string> header;  ///< lines; shorter headers are padded at the bottom
  std::vector<std::string> cells;   ///< one per row
  bool align_right = true;

  std::size_t width() const;
};

/// Renders columns separated by two blanks, after `indent` blanks, without trailing blanks. All columns must
/// have the same number of cells.
std::string render_columns(const std::vector<TextColumn>& columns, std::size_t indent = 0);

/// Returns `text` in lines of at most `width`, each after `indent` blanks; words are not cut.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width);

/// Passed for the number of shown elements if all kept elements are shown.
inline constexpr std::size_t all_kept = std::numeric_limits<std::size_t>::max();

/// Returns a line for below a list of the first `most` of many entries: "  … 480 more: lynxpp report --all".
/// If all kept entries are shown, it refers to the records.
std::string further_line(std::uint64_t count, std::size_t most);

/// Returns the width that render_columns adds to the widths of `count` columns.
std::size_t width_between(std::size_t count);

}  // namespace lynxpp::report
