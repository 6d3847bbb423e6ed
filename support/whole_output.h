// Multi-line texts on an output that other processes write to as well.
#pragma once

#include <string_view>

namespace lynxpp {

/// Writes the text contiguously: texts of other processes that are written by this function come before or
/// after it. Waits at most a second for another process. A pipe without a reader does not end the program.
/// Returns 0 or the errno of the write that failed.
int write_whole(int descriptor, std::string_view text);

}  // namespace lynxpp
