// Files that a user names to be written to from inside a program, such as LYNXPP_OUTPUT. Whatever the path
// leads to, the program goes on: a pipe may have no reader, or one that does not read, and opening a device
// may do something.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "support/descriptor.h"
#include "support/result.h"

namespace lynxpp {

/// Opens a file, which is made if there is none, a pipe, a terminal or /dev/null. `flags` are O_APPEND,
/// O_TRUNC, O_EXCL and O_NOFOLLOW. Waits at most a second for a pipe's reader. Fails for anything else that
/// can be at a path; the message names the path.
Result<Descriptor> open_output(const std::string& path, int flags);

struct Written {
  std::size_t bytes = 0;
  int error = 0;  ///< errno of what could not be written
};

/// Writes, retrying after interruptions and short writes. Gives up, with ETIMEDOUT, if a pipe's reader takes
/// nothing during `patience`. No signal reaches the program: a pipe without a reader yields EPIPE, a file
/// that may not grow EFBIG.
[[nodiscard]] Written write_output(const Descriptor& file, std::string_view text,
                                   std::chrono::milliseconds patience = std::chrono::seconds(10));

/// Opens the file, appends the text and closes it.
Status append_to_output(const std::string& path, std::string_view text);

/// Empties the file, or makes it, before a program appends to it. A pipe needs no beginning.
Status begin_output(const std::string& path);

}  // namespace lynxpp
