#include "cod/syntax/literals.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace lynxpp::cod {
namespace {

bool is_integer_suffix(std::string suffix) {
  const auto is_u = [](char c) { return c == 'u' || c == 'U'; };
  if (!suffix.empty() && is_u(suffix.front())) {
    suffix.erase(0, 1);
  } else if (!suffix.empty() && is_u(suffix.back())) {
    suffix.pop_back();
  }
  return suffix.empty() || suffix == "l" || suffix == "L" || suffix == "ll" || suffix == "LL";
}

/// The value of an escape sequence of one letter; -1 if it does not exist.
int simple_escape(char c) {
  switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case 'a': return '\a';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'v': return '\v';
    case '\\':
    case '\'':
    case '"':
    case '?': return c;
    default: return -1;
  }
}

/// Parses a number of at most `most` digits from `next`; -1 if it is missing or does not fit in a byte.
int numeric_escape(const std::string& text, std::size_t& next, int base, std::size_t most) {
  int value = 0;
  const char* begin = text.data() + next;
  const std::size_t length = std::min(most, text.size() - 1 - next);
  const auto [end, error] = std::from_chars(begin, begin + length, value, base);
  if (error != std::errc() || *begin == '-' || value > 255) return -1;
  next += static_cast<std::size_t>(end - begin);
  return value;
}

}  // namespace

std::pair<Type, std::uint64_t> integer_literal(const std::string& text, std::string& problem,
                                               std::string& hint) {
  const std::size_t suffix = text.find_first_of("uUlL");
  const std::string_view digits = std::string_view(text).substr(0, suffix);
  const std::string tail = suffix == std::string::npos ? "" : text.substr(suffix);
  int base = 10;
  std::size_t skip = 0;
  if (digits.size() > 1 && digits[0] == '0') {
    base = digits[1] == 'x' || digits[1] == 'X' ? 16 : digits[1] == 'b' || digits[1] == 'B' ? 2 : 8;
    skip = base == 8 ? 1 : 2;
  }
  std::uint64_t value = 0;
  const char* last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data() + skip, last, value, base);
  if (error == std::errc::result_out_of_range) {
    problem = "this integer constant does not fit in 64 bits";
  } else if (error != std::errc() || end != last) {
    problem = "this is not a valid number in base " + std::to_string(base);
  } else if (!is_integer_suffix(tail)) {
    problem = "'" + tail + "' is not a valid suffix of an integer constant";
    hint = "use u, l, ul, ll or ull";
  }
  const bool is_unsigned = tail.find_first_of("uU") != std::string::npos;
  const bool is_long = tail.find_first_of("lL") != std::string::npos;
  const bool either = base != 10;
  if (!is_long && !is_unsigned && value <= 0x7fffffffu) return {Type::i32, value};
  if (!is_long && (is_unsigned || either) && value <= 0xffffffffu) return {Type::u32, value};
  return {!is_unsigned && value <= 0x7fffffffffffffffu ? Type::i64 : Type::u64, value};
}

std::pair<Type, double> floating_literal(const std::string& text, std::string& problem) {
  const bool is_hexadecimal = text.size() > 1 && (text[1] == 'x' || text[1] == 'X');
  const bool is_float = text.back() == 'f' || text.back() == 'F';
  const char* begin = text.data() + (is_hexadecimal ? 2 : 0);
  const char* end = text.data() + text.size();
  const auto format = is_hexadecimal ? std::chars_format::hex : std::chars_format::general;
  double value = 0;
  std::errc error;
  if (is_float) {
    // Parsed as float directly, because rounding through double would round twice.
    float single = 0;
    error = std::from_chars(begin, end, single, format).ec;
    value = static_cast<double>(single);
  } else {
    error = std::from_chars(begin, end, value, format).ec;
  }
  if (error != std::errc())
    problem = std::string("this constant does not fit in a ") + (is_float ? "float" : "double");
  return {is_float ? Type::f32 : Type::f64, value};
}

std::string unquoted(const std::string& token, std::string& problem) {
  std::string text;
  for (std::size_t i = 1; i + 1 < token.size();) {
    if (token[i] != '\\' || i + 2 >= token.size()) {
      text += token[i++];
      continue;
    }
    const char letter = token[++i];
    int value = simple_escape(letter);
    if (value >= 0) {
      ++i;
    } else if (letter == 'x') {
      ++i;
      value = numeric_escape(token, i, 16, token.size());
    } else if (letter >= '0' && letter <= '7') {
      value = numeric_escape(token, i, 8, 3);
    }
    if (value < 0) {
      problem = std::string("'\\") + letter + "' is not an escape sequence";
      ++i;
    }
    text += static_cast<char>(value);
  }
  return text;
}

}  // namespace lynxpp::cod
