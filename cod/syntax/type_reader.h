// Reads type names of the parse tree; keeps the structures and typedefs declared so far. Part of the parser:
// exposes ANTLR types.
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
  std::string structure;  ///< if type is Type::structure
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
  void check_stars(grammar::CodParser::PointerContext* stars);  ///< fails for more than one
  void define(const std::string& name, const TypeSpecification& type) { typedefs_[name] = type; }

  std::vector<Structure> structures;
  /// Declarations of enumeration constants that are not yet part of a statement.
  std::vector<StatementPtr> enumerators;

 private:
  TypeSpecification structure(grammar::CodParser::StructureContext* context);
  TypeSpecification enumeration(grammar::CodParser::EnumerationContext* context);
  void read_field(grammar::CodParser::FieldContext* context, Structure& structure);

  SyntaxErrors& errors_;
  ReadExpression read_expression_;
  std::map<std::string, TypeSpecification> typedefs_;
};

/// The number of opening brackets in a declarator or parameter.
std::size_t count_brackets(const antlr4::ParserRuleContext& context);

/// The type of a pointer to `type`.
FullType pointer_to(const TypeSpecification& type);

/// Turns each Identifier token that names an earlier typedef into a TypedefName, because ANTLR's lexer does
/// not know typedefs. `names` are those known so far. Calls `include` with the name of each included file,
/// which may add to `names`.
void mark_typedef_names(antlr4::CommonTokenStream& tokens, std::set<std::string>& names,
                        const std::function<void(antlr4::Token*)>& include);

}  // namespace lynxpp::cod
