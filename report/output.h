// Writing to a descriptor from inside somebody else's process.
#pragma once

#include <string_view>

namespace lynxpp::report {

/// Writes a line at the end of a file that other processes may append to, over interruptions and short
/// writes. Of a line that does not fit as a whole, nothing stays. Returns 0 or the errno of the write that
/// failed. A pipe nobody reads gives EPIPE, a file that may not grow EFBIG, and neither raises its signal in
/// the host program.
[[nodiscard]] int append_line(int descriptor, std::string_view line);

}  // namespace lynxpp::report
