#include "ptx/parser/literal.h"

#include <bit>
#include <charconv>
#include <system_error>

namespace lynxpp::ptx {
namespace {

/// Parses all of `text` as an integer in `base`.
std::optional<std::uint64_t> parse_digits(std::string_view text, int base) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return value;
}

/// True if `text` begins with 0 and the letter, in either case.
bool has_prefix(std::string_view text, char lower) {
  return text.size() > 2 && text[0] == '0' && (text[1] | 0x20) == lower;
}

}  // namespace

std::optional<std::uint64_t> parse_integer_literal(std::string_view text) {
  if (text.ends_with('U')) text.remove_suffix(1);
  if (has_prefix(text, 'x')) return parse_digits(text.substr(2), 16);
  if (has_prefix(text, 'b')) return parse_digits(text.substr(2), 2);
  if (text.size() > 1 && text[0] == '0') return parse_digits(text.substr(1), 8);
  return parse_digits(text, 10);
}

double FloatLiteral::value() const {
  return is_single ? std::bit_cast<float>(static_cast<std::uint32_t>(bits)) : std::bit_cast<double>(bits);
}

std::optional<FloatLiteral> parse_float_literal(std::string_view text) {
  for (const bool single : {true, false}) {
    if (!has_prefix(text, single ? 'f' : 'd')) continue;
    if (text.size() != (single ? 10U : 18U)) return std::nullopt;
    const auto bits = parse_digits(text.substr(2), 16);
    if (!bits) return std::nullopt;
    return FloatLiteral{*bits, single};
  }
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return FloatLiteral{std::bit_cast<std::uint64_t>(value), false};
}

}  // namespace lynxpp::ptx
