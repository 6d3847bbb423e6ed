// Parse trees ▶ the syntax tree. Part of the parser: shows ANTLR types.
#pragma once

#include <map>
#include <memory>

#include "CodLexer.h"
#include "CodParser.h"
#include "cod/syntax/ast.h"
#include "cod/syntax/parser.h"
#include "cod/syntax/syntax_errors.h"

namespace lynxpp::cod {

/// A text of the specification with its parse tree, which lives as long as this.
struct ParsedFile {
  std::uint32_t index = 0;  ///< in SyntaxTree::files
  std::unique_ptr<antlr4::ANTLRInputStream> input;
  std::unique_ptr<grammar::CodLexer> lexer;
  std::unique_ptr<antlr4::CommonTokenStream> tokens;
  std::unique_ptr<grammar::CodParser> parser;
  grammar::CodParser::SpecificationContext* context = nullptr;
  /// What its `include`s bring, by the token of the name; files that have been included before are missing.
  std::map<antlr4::Token*, std::unique_ptr<ParsedFile>> included;
};

/// Thrown when code is nested too deeply, caught in parse(): the only way out of recursive descent.
struct TooDeep {
  Position position;  // the tokens are gone by then
};

/// Of rules: a level of nesting is a statement, or an expression and its primary.
inline constexpr int maximum_rule_depth = 3 * nesting_limit;

/// Appends the items of `file` and, where they are included, those of other files.
void add_to_tree(const ParsedFile& file, SyntaxTree& tree, SyntaxErrors& errors);

}  // namespace lynxpp::cod
