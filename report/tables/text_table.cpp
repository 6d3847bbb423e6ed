#include "report/tables/text_table.h"

#include <algorithm>

#include "report/kernel_name.h"
#include "report/number.h"
#include "support/text.h"

namespace lynxpp::report {
namespace {

constexpr std::size_t gap = 2;

void append_line(std::string& text, const std::vector<TextColumn>& columns,
                 const std::vector<std::size_t>& widths, std::size_t indent, auto&& cell_of) {
  std::string line(indent, ' ');
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string& cell = cell_of(columns[i]);
    const std::string blanks(widths[i] - width_of(cell), ' ');
    if (i != 0) line.append(gap, ' ');
    line += columns[i].align_right ? blanks + cell : cell + blanks;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  text += line + "\n";
}

}  // namespace

std::size_t TextColumn::width() const {
  std::size_t widest = 0;
  for (const std::string& line : header) widest = std::max(widest, width_of(line));
  for (const std::string& cell : cells) widest = std::max(widest, width_of(cell));
  return widest;
}

std::string render_columns(const std::vector<TextColumn>& columns, std::size_t indent) {
  static const std::string nothing;
  std::string text;
  std::vector<std::size_t> widths;
  std::size_t header_lines = 0;
  std::size_t rows = 0;
  for (const TextColumn& column : columns) {
    header_lines = std::max(header_lines, column.header.size());
    rows = std::max(rows, column.cells.size());
    widths.push_back(column.width());
  }
  for (std::size_t line = 0; line < header_lines; ++line) {
    append_line(text, columns, widths, indent, [line](const TextColumn& column) -> const std::string& {
      return line < column.header.size() ? column.header[line] : nothing;
    });
  }
  for (std::size_t row = 0; row < rows; ++row) {
    append_line(text, columns, widths, indent, [row](const TextColumn& column) -> const std::string& {
      return row < column.cells.size() ? column.cells[row] : nothing;
    });
  }
  return text;
}

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string lines;
  std::string line;
  for (const std::string& word : split(text, ' ')) {
    if (!line.empty() && indent + width_of(line) + 1 + width_of(word) > width) {
      lines += std::string(indent, ' ') + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return lines + std::string(indent, ' ') + line + "\n";
}

std::string further_line(std::uint64_t count, std::size_t most) {
  return "  … " + to_text(Number::of(count)) +
         (most == all_kept ? " more in the records\n"
                           : " more: `lynxpp report --all` on the file of LYNXPP_OUTPUT\n");
}

std::size_t width_between(std::size_t count) { return count == 0 ? 0 : (count - 1) * gap; }

}  // namespace lynxpp::report
