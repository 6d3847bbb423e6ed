// What cmake/EmbedTexts.cmake makes of this folder's specifications.
#pragma once

#include <span>
#include <string_view>

namespace lynxpp::observe {

struct EmbeddedText {
  std::string_view name;  ///< file name without ".cod"
  std::string_view source;
};

std::span<const EmbeddedText> embedded_specification();

}  // namespace lynxpp::observe
