// Shows what records say.
#pragma once

#include <string>

namespace lynxpp::cli {

/// Prints a summary of the record file at `path` on standard error. Prints nothing without records, or for a
/// pipe, which another process reads. `html`: the file that has the page; empty: none has.
void summarise(const std::string& path, const std::string& html = {});

}  // namespace lynxpp::cli
