// A position in PTX text with the operations that the scanner needs. Skips white space and comments between
// tokens.
//
// Errors are sticky: the first one is kept, every later operation does nothing, and the cursor is at the end.
// Callers therefore check failed() once, when they are done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ptx/ir/module.h"
#include "support/diagnostic.h"

namespace lynxpp::ptx {

/// Maximum nesting depth of brackets; deeper text is rejected so that no walk over it can exhaust the stack.
inline constexpr std::uint32_t maximum_nesting = 256;

bool is_identifier_start(char c);
bool is_identifier_character(char c);
bool is_space(char c);
/// Returns the end of the line marker at `position`, `# 12 "a.cu" 1` or `#line 12 "a.cu"`; `position` itself
/// if no marker begins there. A marker is a comment anywhere in the text, as for ptxas; its file name has no
/// escapes.
std::uint32_t end_of_line_marker(std::string_view text, std::uint32_t position);

class Cursor {
 public:
  /// Reads text[begin, end); positions refer to `text`.
  Cursor(std::string_view text, std::uint32_t begin, std::uint32_t end)
      : text_(text.substr(0, end)), position_(begin) {}

  /// The beginning of the next token (skips white space and comments).
  std::uint32_t position();
  /// One past the last consumed token.
  std::uint32_t end_of_last() const { return last_end_; }
  bool at_end();
  /// The next token's first character; '\0' at the end.
  char peek();

  /// Consumes the character if it is next.
  bool accept(char c);
  /// Consumes the character or fails with "expected '<c>' <context>".
  bool expect(char c, std::string_view context);
  /// [A-Za-z_$%][A-Za-z0-9_$]*; empty, consuming nothing, if another token is next.
  std::string_view identifier();
  /// ".word", including the dot; empty if another token is next.
  std::string_view directive();
  /// Consumes the directive if it is next.
  bool accept_directive(std::string_view name);
  /// A quoted string, without the quotes; nullopt, consuming nothing, if another token is next.
  std::optional<std::string_view> quoted();
  /// An unsigned literal: decimal, 0x, 0b or octal, with an optional U; nullopt if another token is next.
  std::optional<std::uint64_t> integer();
  /// A run of letters, digits and dots, "9.0", "sm_90a"; empty if another token is next.
  std::string_view word();

  /// Skips from an opening bracket to its partner; ignores brackets in strings and comments.
  void skip_group();
  /// Skips to (not past) the first of `stops` outside brackets, strings and comments; false if the text ends
  /// first.
  bool skip_to(std::string_view stops);
  /// Moves to an absolute position, possibly backwards.
  void move_to(std::uint32_t position) { position_ = position; }
  /// Consumes the next token, of `size` bytes.
  void take(std::uint32_t size) {
    position_ = position() + size;
    last_end_ = position_;
  }
  void skip_line();

  bool failed() const { return error_.has_value(); }
  const std::optional<Diagnostic>& error() const { return error_; }
  /// Fails at `position` of the text.
  void fail_at(std::uint32_t position, std::string message, std::string hint = {});
  /// Fails at the next token.
  void fail(std::string message, std::string hint = {}) {
    fail_at(position(), std::move(message), std::move(hint));
  }
  /// Describes the next token for messages: "';'" or "the end of the text".
  std::string describe_next();
  std::string_view text() const { return text_; }

 private:
  void skip_space();
  void skip_block_comment();
  void skip_string();

  std::string_view text_;
  std::uint32_t position_;
  std::uint32_t last_end_ = 0;
  std::optional<Diagnostic> error_;
};

/// Returns the number of newlines, processing several bytes at a time.
std::uint32_t count_newlines(std::string_view text);

/// Line and column of a byte, both from 1.
SourceLocation locate(std::string_view text, std::uint32_t position);

}  // namespace lynxpp::ptx
