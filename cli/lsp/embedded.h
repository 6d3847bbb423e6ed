// The language reference, embedded at build time.
#pragma once

#include <span>
#include <string_view>

#include "cli/lsp/reference.h"

namespace lynxpp::cli::lsp {

struct EmbeddedText {
  std::string_view name;  ///< file name without ".md"
  std::string_view text;
};
/// Generated from docs/cod-reference.md by EmbedTexts.cmake; one file.
std::span<const EmbeddedText> embedded_references();

const Reference& reference();

}  // namespace lynxpp::cli::lsp
