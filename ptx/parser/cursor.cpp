#include "ptx/parser/cursor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "ptx/parser/literal.h"

namespace lynxpp::ptx {
namespace {

/// Classes of characters for skip_to and skip_group.
enum class Special : std::uint8_t { none, opening, closing, quote, slash };

constexpr std::array<Special, 256> special_characters = [] {
  std::array<Special, 256> table{};
  for (const char c : {'{', '(', '['}) table[static_cast<unsigned char>(c)] = Special::opening;
  for (const char c : {'}', ')', ']'}) table[static_cast<unsigned char>(c)] = Special::closing;
  table['"'] = Special::quote;
  table['/'] = Special::slash;
  return table;
}();

/// Sixteen bytes that are compared at once; comparisons yield 0xff for true. Compilers lower it to the
/// processor's vector instructions.
using Block = std::uint8_t __attribute__((vector_size(16)));

Block load_block(const char* bytes) {
  Block block;
  std::memcpy(&block, bytes, sizeof block);
  return block;
}

/// Returns the position of the next character that skip_group must examine, or `text.size()`. On average
/// about fifteen bytes lie between two of them.
std::uint32_t next_special(std::string_view text, std::uint32_t position) {
  for (; position + sizeof(Block) <= text.size(); position += sizeof(Block)) {
    const Block block = load_block(text.data() + position);
    const Block lower = block | 0x20;  // maps [ and {, ] and } to the same byte
    const auto special =
        (lower == '{') | (lower == '}') | ((block & 0xfe) == '(') | (block == '"') | (block == '/');
    std::uint64_t halves[2];
    std::memcpy(halves, &special, sizeof halves);
    static_assert(std::endian::native == std::endian::little);
    if (halves[0] != 0) return position + static_cast<std::uint32_t>(std::countr_zero(halves[0])) / 8;
    if (halves[1] != 0) return position + 8 + static_cast<std::uint32_t>(std::countr_zero(halves[1])) / 8;
  }
  while (position < text.size() &&
         special_characters[static_cast<unsigned char>(text[position])] == Special::none) {
    ++position;
  }
  return position;
}

char closing_of(char opening) {
  if (opening == '{') return '}';
  return opening == '(' ? ')' : ']';
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns the beginning of the line marker whose name begins at `quote`; `quote` itself if it is not part of
/// one.
std::uint32_t marker_of_name(std::string_view text, std::uint32_t quote) {
  std::string_view before = text.substr(0, quote);
  const auto drop = [&](std::string_view characters) {
    const std::size_t size = before.size();
    before = before.substr(0, before.find_last_not_of(characters) + 1);
    return before.size() < size;
  };
  if (!drop(" \t") || !drop("0123456789")) return quote;
  drop(" \t");
  if (before.ends_with("line")) before.remove_suffix(4);
  drop(" \t");
  return before.ends_with('#') ? static_cast<std::uint32_t>(before.size() - 1) : quote;
}

}  // namespace

bool is_identifier_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}
bool is_identifier_character(char c) { return (is_identifier_start(c) && c != '%') || is_digit(c); }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::uint32_t end_of_line_marker(std::string_view text, std::uint32_t position) {
  std::size_t end = position;
  const auto take = [&](std::string_view characters) {
    const std::size_t begin = end;
    end = std::min(text.find_first_not_of(characters, end), text.size());
    return end > begin;
  };
  if (!text.substr(end).starts_with('#')) return position;
  ++end;
  take(" \t");
  if (text.substr(end).starts_with("line")) end += 4;
  take(" \t");
  if (!take("0123456789") || !take(" \t") || !text.substr(end).starts_with('"')) return position;
  end = text.find_first_of("\"\n", end + 1);
  if (end == std::string_view::npos || text[end] != '"') return position;
  ++end;
  take(" \t\r0123456789");
  return static_cast<std::uint32_t>(end);
}

std::uint32_t count_newlines(std::string_view text) {
  constexpr std::size_t blocks_in_a_byte = 255;  // prevents overflow of the per-byte sums
  std::uint32_t count = 0;
  std::size_t position = 0;
  while (position + sizeof(Block) <= text.size()) {
    const std::size_t blocks = std::min((text.size() - position) / sizeof(Block), blocks_in_a_byte);
    Block sums{};
    for (std::size_t block = 0; block < blocks; ++block, position += sizeof(Block))
      sums -= Block(load_block(text.data() + position) == '\n');
    for (std::size_t at = 0; at < sizeof(Block); ++at) count += sums[at];
  }
  return count + static_cast<std::uint32_t>(std::ranges::count(text.substr(position), '\n'));
}

SourceLocation locate(std::string_view text, std::uint32_t position) {
  const std::string_view before = text.substr(0, position);
  const std::uint32_t line = 1 + count_newlines(before);
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 == 0
  return {{}, line, static_cast<std::uint32_t>(position - line_begin) + 1, 1};
}

void Cursor::fail_at(std::uint32_t position, std::string message, std::string hint) {
  if (!error_)
    error_ = Diagnostic{Severity::error, locate(text_, position), std::move(message), std::move(hint)};
  position_ = static_cast<std::uint32_t>(text_.size());
}

void Cursor::skip_block_comment() {
  const std::uint32_t begin = position_;
  const std::size_t end = text_.find("*/", position_ + 2);
  if (end == std::string_view::npos) {
    fail_at(begin, "unterminated comment", "close it with '*/'");
    return;
  }
  position_ = static_cast<std::uint32_t>(end + 2);
}

void Cursor::skip_line() {
  const std::size_t end = text_.find('\n', position_);
  position_ = static_cast<std::uint32_t>(end == std::string_view::npos ? text_.size() : end);
}

void Cursor::skip_space() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (is_space(c)) {
      ++position_;
    } else if (c == '/' && position_ + 1 < text_.size() && text_[position_ + 1] == '/') {
      skip_line();
    } else if (c == '/' && position_ + 1 < text_.size() && text_[position_ + 1] == '*') {
      skip_block_comment();
    } else {
      const std::uint32_t end = end_of_line_marker(text_, position_);
      if (end == position_) return;
      position_ = end;
    }
  }
}

std::uint32_t Cursor::position() {
  skip_space();
  return position_;
}

bool Cursor::at_end() { return position() >= text_.size(); }

char Cursor::peek() { return at_end() ? '\0' : text_[position_]; }

bool Cursor::accept(char c) {
  if (at_end() || text_[position_] != c) return false;
  last_end_ = ++position_;
  return true;
}

bool Cursor::expect(char c, std::string_view context) {
  if (accept(c)) return true;
  std::string message = "expected '";
  message += c;
  message += "' ";
  message += context;
  message += " instead of " + describe_next();
  fail(std::move(message));
  return false;
}

std::string_view Cursor::identifier() {
  const std::uint32_t begin = position();
  if (begin >= text_.size() || !is_identifier_start(text_[begin])) return {};
  ++position_;
  while (position_ < text_.size() && is_identifier_character(text_[position_])) ++position_;
  last_end_ = position_;
  return text_.substr(begin, position_ - begin);
}

std::string_view Cursor::directive() {
  const std::uint32_t begin = position();
  if (begin + 1 >= text_.size() || text_[begin] != '.' || !is_identifier_start(text_[begin + 1])) return {};
  ++position_;
  while (position_ < text_.size() && is_identifier_character(text_[position_])) ++position_;
  last_end_ = position_;
  return text_.substr(begin, position_ - begin);
}

bool Cursor::accept_directive(std::string_view name) {
  const std::uint32_t saved_end = last_end_;
  const std::uint32_t begin = position();
  if (directive() == name) return true;
  if (!failed()) position_ = begin;
  last_end_ = saved_end;
  return false;
}

std::string_view Cursor::word() {
  const std::uint32_t begin = position();
  while (position_ < text_.size() && (is_identifier_character(text_[position_]) || text_[position_] == '.')) {
    ++position_;
  }
  if (position_ > begin) last_end_ = position_;
  return text_.substr(begin, position_ - begin);
}

void Cursor::skip_string() {
  const std::uint32_t begin = position_;
  if (const std::uint32_t end = end_of_line_marker(text_, marker_of_name(text_, begin)); end > begin) {
    position_ = end;
    return;
  }
  ++position_;
  while (position_ < text_.size() && text_[position_] != '"' && text_[position_] != '\n') {
    position_ += text_[position_] == '\\' && position_ + 1 < text_.size() ? 2 : 1;
  }
  if (position_ >= text_.size() || text_[position_] != '"') {
    fail_at(begin, "unterminated string", "close it with '\"' on the same line");
    return;
  }
  last_end_ = ++position_;
}

std::optional<std::string_view> Cursor::quoted() {
  const std::uint32_t begin = position();
  if (begin >= text_.size() || text_[begin] != '"') return std::nullopt;
  skip_string();
  if (failed()) return std::nullopt;
  return text_.substr(begin + 1, position_ - begin - 2);
}

std::optional<std::uint64_t> Cursor::integer() {
  const std::uint32_t begin = position();
  if (begin >= text_.size() || !is_digit(text_[begin])) return std::nullopt;
  while (position_ < text_.size() && is_identifier_character(text_[position_])) ++position_;
  last_end_ = position_;
  const std::string_view literal = text_.substr(begin, position_ - begin);
  const auto value = parse_integer_literal(literal);
  if (!value) fail_at(begin, "'" + std::string(literal) + "' is not a 64-bit integer");
  return value;
}

void Cursor::skip_group() {
  char partners[maximum_nesting];
  std::uint32_t openings[maximum_nesting];
  std::uint32_t depth = 0;
  while (position_ < text_.size()) {
    const char c = text_[position_];
    switch (special_characters[static_cast<unsigned char>(c)]) {
      case Special::none: position_ = next_special(text_, position_ + 1); continue;
      case Special::quote: skip_string(); continue;
      case Special::slash: {
        const std::uint32_t before = position_;
        skip_space();
        if (position_ == before) ++position_;  // a division
        continue;
      }
      case Special::opening:
        if (depth == maximum_nesting) {
          fail("brackets are nested more than " + std::to_string(maximum_nesting) + " deep");
          return;
        }
        partners[depth] = closing_of(c);
        openings[depth++] = position_++;
        continue;
      case Special::closing: break;
    }
    if (depth == 0 || partners[depth - 1] != c) {
      std::string message = "'";
      message += c;
      message += depth == 0 ? "' has no matching opening bracket" : "' does not close the '";
      if (depth > 0) {
        const SourceLocation opening = locate(text_, openings[depth - 1]);
        message += text_[openings[depth - 1]];
        message += "' of line " + std::to_string(opening.line);
      }
      fail(std::move(message));
      return;
    }
    last_end_ = ++position_;
    if (--depth == 0) return;
  }
  if (!failed()) {
    std::string message = "'";
    message += text_[openings[depth - 1]];
    fail_at(openings[depth - 1], message + "' is never closed");
  }
}

bool Cursor::skip_to(std::string_view stops) {
  while (!at_end()) {
    const char c = text_[position_];
    if (stops.find(c) != std::string_view::npos) return true;
    switch (special_characters[static_cast<unsigned char>(c)]) {
      case Special::opening:
      case Special::closing: skip_group(); break;
      case Special::quote: skip_string(); break;
      default: last_end_ = ++position_;
    }
  }
  return false;
}

std::string Cursor::describe_next() {
  const std::uint32_t begin = position();
  if (begin >= text_.size()) return "the end of the text";
  std::uint32_t end = begin + 1;
  if (is_identifier_character(text_[begin]) || text_[begin] == '.') {
    while (end < text_.size() && is_identifier_character(text_[end])) ++end;
  }
  const std::string_view token = text_.substr(begin, std::min<std::uint32_t>(end - begin, 60));
  const bool printable = std::ranges::all_of(token, [](char c) { return c > ' ' && c < 127; });
  if (printable) return "'" + std::string(token) + "'";
  return "byte " + std::to_string(static_cast<unsigned char>(token[0]));
}

}  // namespace lynxpp::ptx
