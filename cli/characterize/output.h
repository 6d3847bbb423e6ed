// How `lynxpp characterize` shows kernels.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/characterize/kernels.h"

namespace lynxpp::cli {

/// Returns the kernels, then the correlations, in lines of about `width` characters.
std::string characterize_text(const std::vector<KernelCharacter>& kernels, std::size_t width);

/// Returns one line per kernel; a missing measure is empty.
std::string characterize_csv(const std::vector<KernelCharacter>& kernels);

/// Draws each pair of measures as a scatter plot with a dot per kernel, and a histogram of each measure.
std::string characterize_svg(const std::vector<KernelCharacter>& kernels);

}  // namespace lynxpp::cli
