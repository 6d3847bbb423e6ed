// How alike words are spelt.
#pragma once

#include <cstddef>
#include <string_view>

namespace lynxpp {

/// Letters left out, added, replaced, and neighbours swapped.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace lynxpp
