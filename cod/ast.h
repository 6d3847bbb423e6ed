// The syntax tree. The parser builds it, semantic analysis fills in types and symbols, code generation reads it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cod/type.h"

namespace lynxpp::cod {

/// Line and column count from 1, in bytes; the file is the specification's.
struct Position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t length = 1;
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
  increment,
  decrement,
};

enum class ExpressionKind : std::uint8_t {
  integer,   ///< value
  floating,  ///< real
  string,    ///< text, escapes resolved
  name,      ///< text
  unary,     ///< op, operands[0]; prefix ++ and -- included
  postfix,   ///< ++ and --
  binary,
  assign,       ///< op is none for `=`, else the operator of the compound assignment
  conditional,  ///< operands: condition, then, else
  cast,         ///< type
  size,         ///< sizeof(type): value
  call,         ///< text names the function, operands are the arguments
  index,        ///< operands: indexed expression, index
};

struct Symbol;
struct ApiFunction;

struct Expression {
  ExpressionKind kind = ExpressionKind::integer;
  Operator op = Operator::none;
  Type type = Type::none;  ///< of the value; set by the parser for literals and casts, else by sema
  Position position;
  std::string text;
  std::uint64_t value = 0;
  double real = 0;
  std::vector<std::unique_ptr<Expression>> operands;

  Symbol* symbol = nullptr;          ///< name, call of a helper; index: the array, on the outermost index
  const ApiFunction* api = nullptr;  ///< call
  std::uint32_t extent = 0;          ///< name of an extent: 1 + Extent
  bool elected = false;              ///< call: stands under a condition with leastActiveThreadInWarp()
  bool discarded = false;            ///< a statement of its own: nobody wants the value
};
using ExpressionPtr = std::unique_ptr<Expression>;

struct Declarator {
  std::string name;
  Position position;
  ExpressionPtr initializer;
  Symbol* symbol = nullptr;
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
};

struct Statement {
  StatementKind kind = StatementKind::empty;
  Position position;
  Type type = Type::none;  ///< declaration
  bool is_const = false;   ///< declaration
  std::vector<Declarator> declarators;
  ExpressionPtr condition;   ///< if, loops
  ExpressionPtr expression;  ///< expression, return; for: the step
  /// block: its statements; if: then, else; loops: the body; for: the body, then the start statement when there is one
  std::vector<std::unique_ptr<Statement>> children;
};
using StatementPtr = std::unique_ptr<Statement>;

struct Label {
  std::string name;
  Position position;
};

struct Parameter {
  Type type = Type::none;
  std::string name;
  Position position;
};

/// One construct at file scope.
struct Item {
  enum class Kind : std::uint8_t { global_array, function, handler, statement };
  Kind kind = Kind::statement;
  Position position;                   ///< of the name, or of the first label
  std::string name;                    ///< global_array, function
  Type type = Type::none;              ///< global_array: element; function: result
  std::vector<ExpressionPtr> extents;  ///< global_array
  std::vector<Parameter> parameters;   ///< function
  std::vector<Label> labels;           ///< handler
  StatementPtr body;                   ///< function, handler, statement
};

struct SyntaxTree {
  std::vector<Item> items;
};

}  // namespace lynxpp::cod
