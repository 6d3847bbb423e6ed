// The reference as it was when the program was built.
#pragma once

#include <span>
#include <string_view>

#include "cli/lsp/reference.h"

namespace lynxpp::cli::lsp {

struct EmbeddedText {
  std::string_view name;  ///< file name without ".md"
  std::string_view text;
};
/// What EmbedTexts.cmake makes of docs/cod-reference.md, which is one file.
std::span<const EmbeddedText> embedded_references();

const Reference& reference();

}  // namespace lynxpp::cli::lsp
