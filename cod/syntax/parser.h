// Text of a specification ▶ syntax tree. No ANTLR type leaves parser.cpp.
#pragma once

#include <string>

#include "cod/syntax/ast.h"
#include "support/result.h"

namespace lynxpp::cod {

/// Nesting of statements and expressions beyond this is refused: the stages behind the parser recurse.
inline constexpr int nesting_limit = 200;

/// Failure: every syntax error found, each with a place in `file`.
Result<SyntaxTree> parse(const std::string& source, const std::string& file);

}  // namespace lynxpp::cod
