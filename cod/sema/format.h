// printf's formats, cut into pieces at compile time and put together in print().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cod/syntax/type.h"

namespace lynxpp::cod {

struct FormatPiece {
  enum class Kind { text, integer, unsigned_integer, floating, string };
  Kind kind = Kind::text;
  std::string text;    ///< text: as it is; else the conversion for a 64-bit argument: "%-8lld", "%.2f"
  std::string source;  ///< the conversion as written, "%-8d"
  /// Of integers: the value is cut to so many bytes, as in C (hh, h, l, ll, j, z, t). 0: to those of the
  /// argument's promoted type.
  std::uint32_t bytes = 0;
};

/// False when a conversion is unknown; `error` then says which.
bool parse_format(const std::string& format, std::vector<FormatPiece>& pieces, std::string& error);

/// The text of one conversion; `bits` are those of a long, a double or the address of a std::string, `type`
/// is the argument's.
std::string format_value(const FormatPiece& piece, unsigned long long bits, Type type);

}  // namespace lynxpp::cod
