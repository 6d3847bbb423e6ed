// The syntax tree. The parser builds it, semantic analysis adds types and symbols, code generation reads it.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cod/syntax/type.h"
#include "support/diagnostic.h"

namespace lynxpp::cod {

/// Line and column are 1-based; columns are bytes.
struct Position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t length = 1;
  std::uint32_t file = 0;  ///< index into SyntaxTree::files
};

enum class Operator : std::uint8_t {
  none,
  add,
  subtract,
  multiply,
  divide,
  remainder,
  shift_left,
  shift_right,
  less,
  greater,
  less_equal,
  greater_equal,
  equal,
  not_equal,
  bit_and,
  bit_xor,
  bit_or,
  logical_and,
  logical_or,
  plus,
  minus,
  logical_not,
  complement,
  address_of,
  dereference,
  increment,
  decrement,
};

/// Binary or postfix operators; `none` if it does not exist.
Operator operator_of(std::string_view text);
/// Prefix operators.
Operator unary_operator_of(std::string_view text);

constexpr bool is_comparison(Operator op) { return op >= Operator::less && op <= Operator::not_equal; }
constexpr bool is_shift(Operator op) { return op == Operator::shift_left || op == Operator::shift_right; }
/// True if both operands must be integers.
constexpr bool takes_integers(Operator op) {
  return op == Operator::remainder || is_shift(op) || (op >= Operator::bit_and && op <= Operator::bit_or);
}

enum class ExpressionKind : std::uint8_t {
  integer,   ///< value
  floating,  ///< real
  string,    ///< text, with escapes resolved
  null,      ///< the null pointer
  name,      ///< text
  unary,     ///< op, operands[0]; prefix ++ and -- only before sema
  postfix,   ///< ++ and --, only before sema, which turns them into assignments
  binary,
  assign,       ///< `none` for `=`, else the operator of the compound assignment
  conditional,  ///< operands: condition, then, else
  cast,         ///< type
  size,         ///< sizeof `type` and `structure`, or operands[0] if present; sema sets value
  call,         ///< text is the function's name, operands are the arguments
  index,        ///< operands: indexed expression, index. After sema: indices of an element of `symbol`
  member,       ///< operands[0] . text
  comma,        ///< operands: all are evaluated; the last one is the value
};

/// A type and its attributes.
struct FullType {
  Type type = Type::none;
  std::string structure;      ///< of Type::structure, or of the pointee
  Type pointee = Type::none;  ///< of Type::pointer
  bool to_const = false;      ///< of Type::pointer
};

struct Symbol;
struct ApiFunction;

/// The node of an expression, without its children. The type is that of the value; the parser sets it for
/// literals and casts, sema for all others.
struct ExpressionNode : FullType {
  ExpressionKind kind = ExpressionKind::integer;
  Operator op = Operator::none;
  Position position;
  std::string text;
  std::uint64_t value = 0;
  double real = 0;
  Symbol* symbol = nullptr;          ///< name, call of a helper; index: the array, on the outermost index
  const ApiFunction* api = nullptr;  ///< call
  std::uint32_t extent = 0;          ///< name of an extent: 1 + Extent
  bool elected = false;              ///< call, target of an assignment: only an elected lane executes it
  bool conditional = false;          ///< assign: under a condition, or in a helper
  bool yields_old = false;           ///< assign: the value is the target's old one, as of postfix ++ and --
  bool discarded = false;            ///< the value is unused: an expression statement

  void take_type(const FullType& from) { static_cast<FullType&>(*this) = from; }
};

struct Expression : ExpressionNode {
  std::vector<std::unique_ptr<Expression>> operands;
  /// index, name: evaluated once before the operands; assigns the hidden variable that `symbol` is in. Call
  /// of a helper: evaluated after the operands; copies structures into its parameters.
  std::vector<std::unique_ptr<Expression>> setup;
};
using ExpressionPtr = std::unique_ptr<Expression>;

ExpressionPtr make_expression(ExpressionKind kind, const Position& position, Type type = Type::none);

ExpressionPtr make_integer(std::uint64_t value, Type type = Type::u64, const Position& position = {});

/// A deep copy, including what sema added.
ExpressionPtr clone(const Expression& expression);

/// An initialiser after `=`: an expression, or a list in braces.
struct Initializer {
  Position position;
  ExpressionPtr expression;  ///< null if it is a list
  std::vector<Initializer> list;
};

struct Declarator {
  std::string name;
  Position position;
  bool is_pointer = false;
  bool is_const_pointer = false;
  std::vector<ExpressionPtr> dimensions;  ///< of an array; null for `[]`
  ExpressionPtr initializer;
  std::vector<Initializer> list;  ///< `= { … }`
  bool has_list = false;
  Symbol* symbol = nullptr;
  /// Arrays and structures: the initialiser as assignments, one per element (set by sema).
  std::vector<ExpressionPtr> assignments;
};

struct Field {
  Type type = Type::none;
  std::string structure;
  std::string name;
  Position position;
  std::vector<ExpressionPtr> dimensions;
};

struct Structure {
  std::string name;  ///< "pair"; a structure without a tag gets a name that cannot be written
  Position position;
  std::vector<Field> fields;
};

enum class StatementKind : std::uint8_t {
  empty,
  block,
  declaration,
  expression,
  if_else,
  while_loop,
  do_loop,
  for_loop,
  break_loop,
  continue_loop,
  return_value,
  switch_case,  ///< condition, children[0]
  case_label,   ///< condition is the value (null: default), children[0] the labelled statement
};

struct Statement {
  StatementKind kind = StatementKind::empty;
  Position position;
  Type type = Type::none;   ///< declaration
  std::string structure;    ///< declaration of Type::structure
  bool is_const = false;    ///< declaration
  bool is_counted = false;  ///< the engine counts instead (cod/sema/counters.h)
  std::uint32_t tally = 0;  ///< index in Program::tallies + 1; 0 if not a tally
  std::vector<Declarator> declarators;
  ExpressionPtr condition;   ///< if, loops
  ExpressionPtr expression;  ///< expression, return; for: the step
  /// block: its statements; if: then, else; loops: the body; for: the body, then the init statement if
  /// present.
  std::vector<std::unique_ptr<Statement>> children;
};
using StatementPtr = std::unique_ptr<Statement>;

/// Calls visit(expression) for each expression of the statement itself, without those of its children.
template <typename Visit>
void for_each_expression(const Statement& statement, Visit visit) {
  for (const Declarator& declarator : statement.declarators) {
    if (declarator.initializer) visit(*declarator.initializer);
    for (const ExpressionPtr& each : declarator.assignments) visit(*each);
  }
  if (statement.condition) visit(*statement.condition);
  if (statement.expression) visit(*statement.expression);
}

/// Calls visit(expression) for the expression and, if that returns true, for each of its parts.
template <typename Visit>
void walk(const Expression& expression, Visit visit) {
  if (!visit(expression)) return;
  for (const ExpressionPtr& each : expression.setup) walk<Visit&>(*each, visit);
  for (const ExpressionPtr& operand : expression.operands) walk<Visit&>(*operand, visit);
}

/// Does the same for all expressions of the statement and its children, without those for which
/// enter(statement) returns false.
template <typename Enter, typename Visit>
void walk(const Statement& statement, Enter enter, Visit visit) {
  if (!enter(statement)) return;
  for_each_expression(statement, [&](const Expression& each) { walk<Visit&>(each, visit); });
  for (const StatementPtr& child : statement.children) walk<Enter&, Visit&>(*child, enter, visit);
}
inline constexpr auto all_statements = [](const Statement&) { return true; };

/// The jumps in a statement to code after it or outside of it.
struct Exits {
  bool returns = false;
  bool breaks = false;     ///< of an enclosing loop or switch
  bool continues = false;  ///< of an enclosing loop
  /// True if a lane that reaches the statement may skip the code after it.
  bool any() const { return returns || breaks || continues; }
};
Exits exits_of(const Statement& statement);

struct Label {
  std::string name;
  Position position;
  bool has_arguments = false;
  std::vector<ExpressionPtr> arguments;
};

struct Parameter {
  FullType type;
  std::string name;
  Position position;
  bool is_const = false;
};

/// The part of a `global` declaration that is specific to `trace`, `histogram` and `map`.
struct StorageClause {
  std::string kind;  ///< empty for an array
  Position position;
  bool has_type = false;  ///< has a type of elements
  bool has_key = false;   ///< `by unsigned long`
  Type key = Type::none;
  std::string key_structure;
  std::string binning;  ///< `= linear(0, 100)`; empty if absent
  Position binning_position;
  std::vector<ExpressionPtr> bounds;
};

/// One construct at file scope.
struct Item {
  enum class Kind : std::uint8_t { global_array, shared_array, function, handler, statement };
  Kind kind = Kind::statement;
  Position position;                   ///< of the name, or of the first label
  std::string name;                    ///< arrays, function
  Type type = Type::none;              ///< arrays: element type
  std::string structure;               ///< arrays of Type::structure
  FullType result;                     ///< function
  std::vector<ExpressionPtr> extents;  ///< arrays; null for `[]`
  StorageClause storage;               ///< arrays
  bool has_initial = false;            ///< arrays
  Initializer initial;                 ///< arrays: initial elements
  std::vector<Parameter> parameters;   ///< function
  std::vector<Label> labels;           ///< handler
  bool is_host = false;                ///< statement: declares 'host' variables
  StatementPtr body;                   ///< function, handler, statement
};

/// A source text of the specification.
struct SourceFile {
  std::string path;  ///< as diagnostics name it
  std::string text;
};

SourceLocation location_of(const std::vector<SourceFile>& files, const Position& position);

/// Adapts diagnostics for a reader that has the text of the first file only: messages about other files quote
/// the line, and the location becomes part of the file name.
void quote_included_lines(const std::vector<SourceFile>& files, Diagnostics& diagnostics);

struct SyntaxTree {
  std::vector<SourceFile> files;  ///< the specification first, then the files that it includes
  std::set<std::string> names;    ///< every name in the text
  std::set<std::string> types;    ///< typedef names
  std::vector<Structure> structures;
  std::vector<Item> items;
};

}  // namespace lynxpp::cod
