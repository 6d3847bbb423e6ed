// Finds the declaration of a name in a specification.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "cli/lsp/text.h"

namespace lynxpp::cli::lsp {

struct Definition {
  std::string path;  ///< an included file; empty: the text itself
  Position begin, end;
};

/// Finds the declaration of the name at byte `offset`: in the enclosing handler or function, else at file
/// scope, else in the files that the file at `path` includes. Returns nullopt if there is no name or it is
/// part of the language.
std::optional<Definition> definition_at(const std::string& text, std::size_t offset, const std::string& path);

}  // namespace lynxpp::cli::lsp
