// Writes to a descriptor from inside another program's process.
#pragma once

#include <string_view>

#include "support/output_file.h"

namespace lynxpp::report {

/// Writes a line at the end of a file that other processes may append to, as write_output() does. If the line
/// does not fit, removes its beginning. Returns 0 or the errno of the failed call.
[[nodiscard]] int append_line(const Descriptor& output, std::string_view line);

}  // namespace lynxpp::report
