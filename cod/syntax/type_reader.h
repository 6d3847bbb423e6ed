// Type names of the parse tree ▶ types of the syntax tree; keeps the structures and typedefs met so far. Part
// of the parser: shows ANTLR types.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "CodParser.h"
#include "cod/syntax/ast.h"
#include "cod/syntax/syntax_errors.h"

namespace lynxpp::cod {

struct TypeSpecification {
  Type type = Type::none;
  std::string structure;  ///< when type is Type::structure
  bool is_const = false;
};

class TypeReader {
 public:
  using ReadExpression = std::function<ExpressionPtr(grammar::CodParser::ExpressionContext*)>;

  TypeReader(SyntaxErrors& errors, ReadExpression read_expression)
      : errors_(errors), read_expression_(std::move(read_expression)) {}

  TypeSpecification read(grammar::CodParser::TypeNameContext* context);
  FullType read_full(grammar::CodParser::TypeNameContext* context, grammar::CodParser::PointerContext* stars);
  FullType with_stars(const TypeSpecification& type, grammar::CodParser::PointerContext* stars);
  void check_stars(grammar::CodParser::PointerContext* stars);  ///< one is the most
  void define(const std::string& name, const TypeSpecification& type) { typedefs_[name] = type; }

  std::vector<Structure> structures;
  /// Declarations of constants that enumerations have brought and nobody has taken yet.
  std::vector<StatementPtr> enumerators;

 private:
  TypeSpecification structure(grammar::CodParser::StructureContext* context);
  TypeSpecification enumeration(grammar::CodParser::EnumerationContext* context);
  void read_field(grammar::CodParser::FieldContext* context, Structure& structure);

  SyntaxErrors& errors_;
  ReadExpression read_expression_;
  std::map<std::string, TypeSpecification> typedefs_;
};

/// The type of a pointer to it.
FullType pointer_to(const TypeSpecification& type);

/// ANTLR's lexer knows no typedefs: makes TypedefName of every Identifier that one names further up. `names`
/// are those known so far. `include` is called with the name of each included file, which may add to `names`.
void mark_typedef_names(antlr4::CommonTokenStream& tokens, std::set<std::string>& names,
                        const std::function<void(antlr4::Token*)>& include);

}  // namespace lynxpp::cod
