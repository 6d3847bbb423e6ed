// The identifiers in a piece of PTX, for passes that copy text and rename what it names.
#pragma once

#include <algorithm>
#include <cctype>
#include <string_view>

namespace lynxpp::ptx {

inline bool starts_identifier(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
}
inline bool continues_identifier(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

/// Calls `identifier` with each name in `text` and `other` with what lies between, in order. What follows a
/// dot is a modifier and no name, comments are left out, and `call.uni` becomes `call`: LLVM writes it
/// everywhere, also where lanes are apart.
template <typename Identifier, typename Other>
void split_identifiers(std::string_view text, Identifier identifier, Other other) {
  std::size_t position = 0;
  while (position < text.size()) {
    const std::string_view rest = text.substr(position);
    if (rest.starts_with("//")) {
      position = std::min(text.find('\n', position), text.size());
      continue;
    }
    std::size_t end = position + 1;
    const bool is_word = starts_identifier(rest[0]) || std::isdigit(static_cast<unsigned char>(rest[0])) != 0;
    while (is_word && end < text.size() && continues_identifier(text[end])) ++end;
    const std::string_view token = text.substr(position, end - position);
    if (starts_identifier(token[0]) && (position == 0 || text[position - 1] != '.')) {
      identifier(token);
    } else {
      other(token);
    }
    position = end;
    if (token == "call" && text.substr(position).starts_with(".uni")) position += 4;
  }
}

}  // namespace lynxpp::ptx
