#include "cli/lsp/text.h"

#include <algorithm>

namespace lynxpp::cli::lsp {
namespace {

/// Returns the UTF-16 units of the character that begins with this UTF-8 byte; 0 for continuation bytes.
std::size_t units_of(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte & 0xc0) == 0x80 ? 0 : byte >= 0xf0 ? 2 : 1;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns the end of the literal or comment that begins at `begin`; `begin` itself if none does.
std::size_t end_of_other(std::string_view text, std::size_t begin) {
  const std::string_view rest = text.substr(begin);
  if (rest.starts_with("//")) return std::min(text.find('\n', begin), text.size());
  if (rest.starts_with("/*")) {
    const std::size_t end = text.find("*/", begin + 2);
    return end == std::string_view::npos ? text.size() : end + 2;
  }
  if (rest[0] != '"' && rest[0] != '\'') return begin;
  std::size_t i = begin + 1;
  for (; i < text.size() && text[i] != '\n'; ++i) {
    if (text[i] == rest[0]) return i + 1;
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] != '\n') ++i;
  }
  return i;
}

/// True if only the end of the line or of the text ends this comment or literal.
bool is_open(std::string_view other) {
  if (other.starts_with("//")) return true;
  if (other.starts_with("/*")) return other.size() < 4 || !other.ends_with("*/");
  return other.size() < 2 || other.back() != other.front();
}

}  // namespace

bool is_name_character(char c) {
  return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

Text::Text(std::string_view text) : text_(text) {
  lines_.push_back(0);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') lines_.push_back(i + 1);
  }
  find_words();
}

void Text::find_words() {
  int depth = 0;
  for (std::size_t i = 0; i < text_.size();) {
    if (const std::size_t end = end_of_other(text_, i); end != i) {
      others_.push_back({i, end, is_open(text_.substr(i, end - i))});
      i = end;
      continue;
    }
    if (!is_name_character(text_[i])) {
      const char c = text_[i++];
      if (c == '{' || c == '(') ++depth;
      if ((c == '}' || c == ')') && depth > 0) --depth;
      continue;
    }
    const std::size_t begin = i;
    while (i < text_.size() && is_name_character(text_[i])) ++i;
    if (!is_digit(text_[begin])) words_.push_back({text_.substr(begin, i - begin), begin, depth == 0});
  }
}

std::string_view Text::line(std::size_t number) const {
  if (number >= lines_.size()) return {};
  const std::size_t end = number + 1 < lines_.size() ? lines_[number + 1] - 1 : text_.size();
  std::string_view found = text_.substr(lines_[number], end - lines_[number]);
  if (found.ends_with('\r')) found.remove_suffix(1);
  return found;
}

std::string_view Text::line_of_offset(std::size_t offset) const {
  return line(static_cast<std::size_t>(std::ranges::upper_bound(lines_, offset) - lines_.begin()) - 1);
}

std::size_t Text::offset_of(Position position) const {
  if (position.line >= lines_.size()) return text_.size();
  const std::string_view found = line(position.line);
  std::size_t units = 0;
  std::size_t i = 0;
  while (i < found.size() && units + units_of(found[i]) <= position.character) units += units_of(found[i++]);
  return lines_[position.line] + i;
}

Position Text::position_of(std::size_t line_number, std::size_t column) const {
  if (line_number == 0) return {};
  if (line_number > lines_.size()) return {lines_.size() - 1, position_of(lines_.size(), SIZE_MAX).character};
  const std::string_view found = line(line_number - 1);
  Position position{line_number - 1, 0};
  for (std::size_t i = 0; i < found.size() && i + 1 < column; ++i) position.character += units_of(found[i]);
  return position;
}

const Word* Text::word_at(std::size_t offset) const {
  const auto behind = std::ranges::upper_bound(words_, offset, {}, &Word::offset);
  if (behind == words_.begin()) return nullptr;
  const Word& before = *std::prev(behind);
  return offset <= before.offset + before.text.size() ? &before : nullptr;
}

bool Text::is_code(std::size_t offset) const {
  const auto behind = std::ranges::lower_bound(others_, offset, {}, &Span::begin);
  if (behind == others_.begin()) return true;
  const Span& before = *std::prev(behind);
  return before.is_open ? offset > before.end : offset >= before.end;
}

}  // namespace lynxpp::cli::lsp
