// Texts of several lines on an output that other processes write to, too.
#pragma once

#include <string_view>

namespace lynxpp {

/// Writes the text so that the texts of other processes that are written by this function come before or
/// after it. Waits a second for another process at most. A pipe that nobody reads does not end the program.
/// Returns 0 or the errno of the write that failed.
int write_whole(int descriptor, std::string_view text);

}  // namespace lynxpp
