// Writing to a descriptor from inside somebody else's process.
#pragma once

#include <string_view>

namespace lynxpp::report {

/// Writes all bytes, over interruptions and short writes. Returns 0 or the errno of the write that failed.
/// A pipe nobody reads gives EPIPE and raises no SIGPIPE in the host program.
[[nodiscard]] int write_fully(int descriptor, std::string_view bytes);

}  // namespace lynxpp::report
