// Where a name of a specification is declared.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "cli/lsp/text.h"

namespace lynxpp::cli::lsp {

struct Definition {
  std::string path;  ///< of an included file; empty: the text itself
  Position begin, end;
};

/// Of the name at the byte: in the handler or function around it, else at file scope, else in what the file
/// at `path` includes. nullopt: it is no name, or the language's own.
std::optional<Definition> definition_at(const std::string& text, std::size_t offset, const std::string& path);

}  // namespace lynxpp::cli::lsp
