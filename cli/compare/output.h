// The output of `lynxpp diff`.
#pragma once

#include <cstddef>
#include <string>

#include "cli/compare/comparison.h"

namespace lynxpp::cli {

/// `files`: the names of the files. `top`: rows of each list; 0: all.
std::string to_text(const Comparison& comparison, const Both<std::string>& files, std::size_t top);

/// Returns one JSON object and a newline.
std::string to_json(const Comparison& comparison, const Both<std::string>& files, std::size_t top);

}  // namespace lynxpp::cli
