// The texts of models/machines/*.json; models/cmake/EmbedTexts.cmake writes them into a source.
#pragma once

#include <span>
#include <string_view>

namespace lynxpp::models {

struct EmbeddedText {
  std::string_view name;
  std::string_view text;
};

/// In the order of their names.
std::span<const EmbeddedText> embedded_machines();

}  // namespace lynxpp::models
