// The message for a kernel filter that selected no kernel.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lynxpp::interposer {

/// Returns indices into `kernels` (mangled names), those nearest to `pattern`, a regular expression, first.
/// Distance is the number of letters that differ from the function's name without scope, template arguments
/// and parameters.
std::vector<std::size_t> nearest_first(const std::string& pattern, const std::vector<std::string>& kernels);

/// "'matmull' matches none of the 12 kernels that were launched; the nearest: matmul, gemm, …"
std::string missed_selection(const std::string& pattern, const std::vector<std::string>& nearest);

}  // namespace lynxpp::interposer
