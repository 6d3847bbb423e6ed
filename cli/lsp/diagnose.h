// Compiler diagnostics for a specification while it is edited.
#pragma once

#include <string>

#include "support/diagnostic.h"

namespace lynxpp::cli::lsp {

/// Returns errors and warnings of both halves, all located in the text itself: those of an included file are
/// reported where it is included. `path` is used to find included files.
Diagnostics diagnose(const std::string& text, const std::string& path);

}  // namespace lynxpp::cli::lsp
