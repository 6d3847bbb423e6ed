#include "cod/sema/format.h"

#include <array>
#include <bit>
#include <cctype>
#include <cstdio>
#include <string_view>
#include <utility>

namespace lynxpp::cod {
namespace {

constexpr int maximum_width = 512;

/// Skips a width or precision; false if it is unreasonably large.
bool skip_number(const std::string& format, std::size_t& at) {
  int number = 0;
  while (at < format.size() && std::isdigit(static_cast<unsigned char>(format[at])) != 0) {
    number = number * 10 + (format[at++] - '0');
    if (number > maximum_width) return false;
  }
  return true;
}

/// "hh" ▶ 1; false if the letters are not a length modifier.
bool parse_length(const std::string& format, std::size_t& at, std::uint32_t& bytes) {
  const std::size_t begin = at;
  while (at < format.size() && std::string_view("hlzjt").find(format[at]) != std::string_view::npos) ++at;
  const std::string_view letters = std::string_view(format).substr(begin, at - begin);
  if (letters == "hh") bytes = 1;
  if (letters == "h") bytes = 2;
  for (const std::string_view wide : {"l", "ll", "z", "j", "t"}) {
    if (letters == wide) bytes = 8;
  }
  return letters.empty() || bytes != 0;
}

/// Truncates to the lowest bytes and extends with the conversion's signedness.
unsigned long long cut(unsigned long long bits, std::uint32_t bytes, bool is_signed) {
  if (bytes >= 8) return bits;
  const unsigned unused = 64 - 8 * bytes;
  const unsigned long long high = bits << unused;
  if (!is_signed) return high >> unused;
  return static_cast<unsigned long long>(static_cast<long long>(high) >> unused);
}

bool parse_conversion(const std::string& format, std::size_t& at, FormatPiece& piece) {
  const std::size_t begin = at++;
  while (at < format.size() && std::string_view("-+ #0").find(format[at]) != std::string_view::npos) ++at;
  if (!skip_number(format, at)) return false;
  if (at < format.size() && format[at] == '.') {
    ++at;
    if (!skip_number(format, at)) return false;
  }
  const std::string flags = format.substr(begin, at - begin);
  if (!parse_length(format, at, piece.bytes) || at >= format.size()) return false;
  const char conversion = format[at++];
  piece.source = format.substr(begin, at - begin);
  static constexpr std::pair<std::string_view, FormatPiece::Kind> kinds[] = {
      {"di", FormatPiece::Kind::integer},
      {"uxXo", FormatPiece::Kind::unsigned_integer},
      {"fFeEgG", FormatPiece::Kind::floating},
      {"s", FormatPiece::Kind::string}};
  for (const auto& [letters, kind] : kinds) {
    if (letters.find(conversion) == std::string_view::npos) continue;
    const bool has_length = kind == FormatPiece::Kind::integer || kind == FormatPiece::Kind::unsigned_integer;
    piece.kind = kind;
    piece.text = flags + (has_length ? "ll" : "") + conversion;
    return true;
  }
  return false;
}

}  // namespace

bool parse_format(const std::string& format, std::vector<FormatPiece>& pieces, std::string& error) {
  std::string text;
  for (std::size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      text += format[at++];
    } else if (at + 1 < format.size() && format[at + 1] == '%') {
      text += '%';
      at += 2;
    } else {
      if (!text.empty()) pieces.push_back({FormatPiece::Kind::text, text, ""});
      text.clear();
      const std::size_t begin = at;
      FormatPiece piece;
      if (!parse_conversion(format, at, piece)) {
        error = format.substr(begin, at - begin + 1);
        return false;
      }
      pieces.push_back(std::move(piece));
    }
  }
  if (!text.empty()) pieces.push_back({FormatPiece::Kind::text, text, ""});
  return true;
}

std::string format_value(const FormatPiece& piece, unsigned long long bits, Type type) {
  std::array<char, 2048> buffer{};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  int length = 0;
  switch (piece.kind) {
    case FormatPiece::Kind::floating:
      length = std::snprintf(buffer.data(), buffer.size(), piece.text.c_str(), std::bit_cast<double>(bits));
      break;
    case FormatPiece::Kind::string: {
      const std::string& value = *std::bit_cast<const std::string*>(bits);
      std::string text(value.size() + maximum_width + 1, '\0');
      length = std::snprintf(text.data(), text.size(), piece.text.c_str(), value.c_str());
      text.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
      return text;
    }
    default: {
      const std::uint32_t bytes = piece.bytes != 0 ? piece.bytes : bytes_of(promote(type));
      const bool is_signed = piece.kind == FormatPiece::Kind::integer;
      length = std::snprintf(buffer.data(), buffer.size(), piece.text.c_str(), cut(bits, bytes, is_signed));
    }
  }
#pragma GCC diagnostic pop
  if (length < 0) return {};
  return std::string(buffer.data(),
                     std::min<std::size_t>(static_cast<std::size_t>(length), buffer.size() - 1));
}

}  // namespace lynxpp::cod
