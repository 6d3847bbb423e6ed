// Similarity of words.
#pragma once

#include <cstddef>
#include <string_view>

namespace lynxpp {

/// Number of insertions, deletions, replacements and transpositions of adjacent letters.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace lynxpp
