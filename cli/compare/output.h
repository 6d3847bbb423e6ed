// What `lynxpp diff` prints.
#pragma once

#include <cstddef>
#include <string>

#include "cli/compare/comparison.h"

namespace lynxpp::cli {

/// `files`: their names. `top`: rows of each list; 0: all.
std::string to_text(const Comparison& comparison, const Both<std::string>& files, std::size_t top);

/// One JSON object and a line end.
std::string to_json(const Comparison& comparison, const Both<std::string>& files, std::size_t top);

}  // namespace lynxpp::cli
