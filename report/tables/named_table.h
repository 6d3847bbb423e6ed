// Tables whose first column is kernel names, shortened to what room there is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/tables/text_table.h"

namespace lynxpp::report {

/// Names are not made narrower than this.
inline constexpr std::size_t least_name_width = 12;

std::size_t total_width(const std::vector<TextColumn>& columns);

/// What `columns` leave of `width` for names in front of them.
std::size_t room_for_names(const std::vector<TextColumn>& columns, std::size_t width);

/// Puts the column of kernel names, each in at most `room` characters, in front of `columns`.
std::string render_with_names(const std::vector<std::string>& demangled, std::vector<TextColumn> columns,
                              std::size_t room);

/// "note: KERNEL: NOTE", a line. Notes may hold what a specification printed, line ends included.
std::string note_line(const std::string& kernel, std::string_view note);

}  // namespace lynxpp::report
