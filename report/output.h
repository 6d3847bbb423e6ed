// Writing to a descriptor from inside somebody else's process.
#pragma once

#include <string_view>

namespace lynxpp::report {

/// Writes all bytes, over interruptions and short writes. Returns 0 or the errno of the write that failed.
/// A pipe nobody reads gives EPIPE, a file that may not grow EFBIG, and neither raises its signal in the host
/// program.
[[nodiscard]] int write_fully(int descriptor, std::string_view bytes);

/// The same at the end of a file that other processes may append to. Of a line that does not fit as a whole,
/// nothing stays.
[[nodiscard]] int append_line(int descriptor, std::string_view line);

}  // namespace lynxpp::report
