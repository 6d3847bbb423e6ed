// What to say when a filter of kernels has selected none.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lynxpp::interposer {

/// Puts those that `pattern`, a regular expression, comes closest to first: by letters in which it differs
/// from the function's name, without its scope, template arguments and parameters. Indices into `kernels`,
/// which are mangled names.
std::vector<std::size_t> nearest_first(const std::string& pattern, const std::vector<std::string>& kernels);

/// "'matmull' matches none of the 12 kernels that were launched; the nearest: matmul, gemm, …"
std::string missed_selection(const std::string& pattern, const std::vector<std::string>& nearest);

}  // namespace lynxpp::interposer
