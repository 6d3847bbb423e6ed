// Multi-line text on an output that other processes also write to.
#pragma once

#include <string_view>

namespace lynxpp {

/// Writes the text contiguously: it does not interleave with texts that other processes write with this
/// function. Waits at most a second for another process. A pipe without a reader does not end the program.
/// Returns 0 or the errno of the failed write.
int write_whole(int descriptor, std::string_view text);

}  // namespace lynxpp
