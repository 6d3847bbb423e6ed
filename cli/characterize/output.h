// How `lynxpp characterize` shows kernels.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/characterize/kernels.h"

namespace lynxpp::cli {

/// The kernels, then the correlations; in lines of about `width` characters.
std::string characterize_text(const std::vector<KernelCharacter>& kernels, std::size_t width);

/// One line for each kernel; a measure that it does not have is empty.
std::string characterize_csv(const std::vector<KernelCharacter>& kernels);

/// Each measure against each other, a dot for each kernel, and how often the values of one occur.
std::string characterize_svg(const std::vector<KernelCharacter>& kernels);

}  // namespace lynxpp::cli
