#include "report/tables/named_table.h"

#include <algorithm>
#include <utility>

#include "report/kernel_name.h"
#include "support/text.h"

namespace lynxpp::report {

std::size_t total_width(const std::vector<TextColumn>& columns) {
  std::size_t width = width_between(columns.size());
  for (const TextColumn& column : columns) width += column.width();
  return width;
}

std::size_t room_for_names(const std::vector<TextColumn>& columns, std::size_t width) {
  const std::size_t taken = total_width(columns) + width_between(2);
  return std::max(width > taken ? width - taken : 0, least_name_width);
}

std::string render_with_names(const std::vector<std::string>& demangled, std::vector<TextColumn> columns,
                              std::size_t room) {
  ShortNames names = short_kernel_names(demangled, room);
  columns.insert(columns.begin(), TextColumn{{"kernel"}, std::move(names.names), false});
  std::string text = render_columns(columns);
  for (const std::string& line : names.legend) text += "  " + line + "\n";
  return text;
}

std::string note_line(const std::string& kernel, std::string_view note) {
  std::string text = "note: " + kernel + ": ";
  for (const char byte : trim(note)) text += byte == '\n' ? ' ' : byte;
  return printable(text) + "\n";
}

}  // namespace lynxpp::report
