// What the compiler says of a specification while it is being written.
#pragma once

#include <string>

#include "support/diagnostic.h"

namespace lynxpp::cli::lsp {

/// Errors and warnings of both halves, all with places in the text itself: those of other files stand where
/// it includes one. `path`: where includes are looked for.
Diagnostics diagnose(const std::string& text, const std::string& path);

}  // namespace lynxpp::cli::lsp
