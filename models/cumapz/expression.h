// Integer expressions of a description, evaluated for all threads of a block at once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "support/diagnostic.h"

namespace lynxpp::models::cumapz {

/// A location in the description's text; diagnostics add the file.
struct Position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t length = 1;
};

/// One value for each thread of a block, x fastest.
using Column = std::vector<std::int64_t>;

/// Values of variables, by Expression's slots.
using Frame = std::vector<Column>;

enum class Operation : std::uint8_t {
  number,
  variable,
  negate,
  logical_not,
  complement,
  multiply,
  divide,
  remainder,
  add,
  subtract,
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
  conditional
};

/// C arithmetic with 64 bits that wrap around; shift counts are modulo 64. A tree in one vector: operands
/// precede their operator, the result is last.
struct Expression {
  struct Node {
    Operation operation = Operation::number;
    std::int64_t value = 0;                 ///< number: its value
    std::uint32_t slot = 0;                 ///< variable: its slot
    std::uint32_t operands[3] = {0, 0, 0};  ///< indices in `nodes`
  };
  std::vector<Node> nodes;
  Position position;

  bool empty() const { return nodes.empty(); }
};

/// The active threads of the block.
using Mask = std::vector<char>;

/// Returns the value for every thread; nullopt if an active thread divides by zero.
std::optional<Column> evaluate(const Expression& expression, const Frame& frame, const Mask& mask);

}  // namespace lynxpp::models::cumapz
