// Kernel names for display.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "support/printable.h"

namespace lynxpp::report {

/// Returns the columns that the text takes on a terminal; UTF-8 continuation bytes take none.
std::size_t width_of(std::string_view text);

using lynxpp::printable;

/// Returns `name`, demangled, in at most `width` characters: unabridged if it fits, else without return type
/// and parameter list, else with template arguments as "<...>", else cut in the middle.
std::string short_kernel_name(const std::string& demangled, std::size_t width);

/// Returns the name without return type and parameters: "f<int>" for "void f<int>(int*)".
std::string without_signature(const std::string& demangled);

/// Returns the name without return type, template arguments and parameters: versions of a kernel share it.
std::string base_name(const std::string& demangled);

/// The names of a table's rows, each at most `width` characters. If short names of different kernels
/// coincide, they get " [1]", " [2]", ….
struct ShortNames {
  std::vector<std::string> names;   ///< one per kernel
  std::vector<std::string> legend;  ///< "[1] full name" for each of these
};
ShortNames short_kernel_names(const std::vector<std::string>& demangled, std::size_t width);

}  // namespace lynxpp::report
