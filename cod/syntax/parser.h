// Parses the text of a specification into a syntax tree. No ANTLR type leaves parser.cpp.
#pragma once

#include <string>

#include "cod/syntax/ast.h"
#include "support/result.h"

namespace lynxpp::cod {

/// Fails with all syntax errors found, each with a location in `file`.
Result<SyntaxTree> parse(const std::string& source, const std::string& file);

}  // namespace lynxpp::cod
