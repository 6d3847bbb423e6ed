// Number literals of PTX.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lynxpp::ptx {

/// Parses 12, 0x1F, 0b101, 017, each with an optional U. nullopt if malformed or wider than 64 bits.
std::optional<std::uint64_t> parse_integer_literal(std::string_view text);

struct FloatLiteral {
  std::uint64_t bits = 0;  ///< the bit pattern of a float (is_single) or of a double
  bool is_single = false;  ///< written as 0f…

  double value() const;
};

/// Parses 0f3F800000, 0d3FF0000000000000, 1.5, 1e-3. nullopt if malformed.
std::optional<FloatLiteral> parse_float_literal(std::string_view text);

}  // namespace lynxpp::ptx
