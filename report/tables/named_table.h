// Tables whose first column is kernel names, shortened to fit.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/tables/text_table.h"

namespace lynxpp::report {

/// The minimum width of names.
inline constexpr std::size_t least_name_width = 12;

std::size_t total_width(const std::vector<TextColumn>& columns);

/// Returns the part of `width` that `columns` leave for a column of names.
std::size_t room_for_names(const std::vector<TextColumn>& columns, std::size_t width);

/// Inserts the column of kernel names, each in at most `room` characters, before `columns`.
std::string render_with_names(const std::vector<std::string>& demangled, std::vector<TextColumn> columns,
                              std::size_t room);

/// Returns one line, "note: KERNEL: NOTE". Notes may contain a specification's output, including newlines.
std::string note_line(const std::string& kernel, std::string_view note);

}  // namespace lynxpp::report
