// Shows what records say.
#pragma once

#include <string>

namespace lynxpp::cli {

/// Prints a summary of the record file at `path` on standard error. Prints nothing without records, or for a
/// pipe, which another process reads.
void summarise(const std::string& path);

}  // namespace lynxpp::cli
