// What embed_specifications.cmake makes of examples/specs/*.cod.
#pragma once

#include <span>
#include <string_view>

namespace lynxpp::instrumentors {

struct EmbeddedText {
  std::string_view name;  ///< file name without ".cod"
  std::string_view source;
};

/// Sorted by name.
std::span<const EmbeddedText> embedded_specifications();

}  // namespace lynxpp::instrumentors
