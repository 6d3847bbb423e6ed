// Writing to a descriptor from inside somebody else's process.
#pragma once

#include <string_view>

namespace lynxpp::report {

/// Writes a line at the end of a file that other processes may append to, retrying after interruptions and
/// short writes. If the line does not fit completely, none of it remains. Returns 0 or the errno of the
/// failed call. A pipe without a reader yields EPIPE, a file that may not grow EFBIG; neither signals
/// the host program.
[[nodiscard]] int append_line(int descriptor, std::string_view line);

}  // namespace lynxpp::report
