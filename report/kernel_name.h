// Kernel names for a person to read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "support/printable.h"

namespace lynxpp::report {

/// Characters a terminal shows; UTF-8 continuation bytes count nothing.
std::size_t width_of(std::string_view text);

using lynxpp::printable;

/// `name`, demangled, in at most `width` characters: whole when it fits, else without its return type and
/// parameter list, else with template arguments as "<...>", else cut in the middle.
std::string short_kernel_name(const std::string& demangled, std::size_t width);

/// The names of a table's rows, each at most `width` characters. Different kernels whose short names
/// coincide get " [1]", " [2]", ….
struct ShortNames {
  std::vector<std::string> names;   ///< one per kernel
  std::vector<std::string> legend;  ///< "[1] full name" for those that coincided
};
ShortNames short_kernel_names(const std::vector<std::string>& demangled, std::size_t width);

}  // namespace lynxpp::report
