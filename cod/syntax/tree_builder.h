// Builds the syntax tree from parse trees. Part of the parser: exposes ANTLR types.
#pragma once

#include <map>
#include <memory>

#include "CodLexer.h"
#include "CodParser.h"
#include "cod/syntax/ast.h"
#include "cod/syntax/syntax_errors.h"

namespace lynxpp::cod {

/// A source text with its parse tree, which lives as long as this object.
struct ParsedFile {
  std::uint32_t index = 0;  ///< in SyntaxTree::files
  std::unique_ptr<antlr4::ANTLRInputStream> input;
  std::unique_ptr<grammar::CodLexer> lexer;
  std::unique_ptr<antlr4::CommonTokenStream> tokens;
  std::unique_ptr<grammar::CodParser> parser;
  grammar::CodParser::SpecificationContext* context = nullptr;
  /// The files that its `include`s add, by the token of the file name; without those that are already
  /// included.
  std::map<antlr4::Token*, std::unique_ptr<ParsedFile>> included;
};

/// Thrown if code is nested too deeply and caught in parse(): the only way out of recursive descent.
struct TooDeep {
  Position position;  ///< copied, because the tokens are destroyed before the exception is caught
};

/// Maximum depth of nested grammar rules, because later stages recurse. One level of nesting is up to three
/// rules: a statement, or an expression and its primary.
inline constexpr int maximum_rule_depth = 3 * 200;

/// Appends the items of `file`, with those of included files at their `include`.
void add_to_tree(const ParsedFile& file, SyntaxTree& tree, SyntaxErrors& errors);

}  // namespace lynxpp::cod
