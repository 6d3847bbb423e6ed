// Semantic analysis: checks names, types and contexts, and turns the syntax tree into a program.
#pragma once

#include <memory>
#include <string>

#include "cod/sema/program.h"
#include "support/result.h"

namespace lynxpp::cod {

/// Fails with all errors found. Warnings of a successful analysis are appended to `warnings`.
Result<std::shared_ptr<const Program>> analyse(SyntaxTree tree, const std::string& file,
                                               Diagnostics& warnings);

}  // namespace lynxpp::cod
