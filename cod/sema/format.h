// printf format strings: split into pieces at compile time and formatted by print().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cod/syntax/type.h"

namespace lynxpp::cod {

struct FormatPiece {
  enum class Kind { text, integer, unsigned_integer, floating, string };
  Kind kind = Kind::text;
  std::string text;    ///< literal text; else the conversion for a 64-bit argument: "%-8lld", "%.2f"
  std::string source;  ///< the conversion as written, "%-8d"
  /// Integers: bytes that the value is truncated to, as in C (hh, h, l, ll, j, z, t). 0: the size of the
  /// argument's promoted type.
  std::uint32_t bytes = 0;
};

/// Returns false if a conversion is unknown and sets `error` to it.
bool parse_format(const std::string& format, std::vector<FormatPiece>& pieces, std::string& error);

/// Formats one conversion. `bits` holds a long, a double or the address of a std::string; `type` is the
/// argument's type.
std::string format_value(const FormatPiece& piece, unsigned long long bits, Type type);

}  // namespace lynxpp::cod
