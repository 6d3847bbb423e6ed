// A position in PTX text with the few moves the scanner needs. White space and comments are skipped between
// tokens.
//
// Errors are sticky: the first one stays, every later move does nothing and the cursor stands at the end. So
// a caller checks failed() once, when it is done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ptx/ir/module.h"
#include "support/diagnostic.h"

namespace lynxpp::ptx {

/// Brackets may nest this deep; deeper text is refused, so that nothing that walks it can exhaust the stack.
inline constexpr std::uint32_t maximum_nesting = 256;

bool is_identifier_start(char c);
bool is_identifier_character(char c);
bool is_space(char c);
/// Where the marker at `position` ends that says where the text comes from, `# 12 "a.cu" 1` or `#line 12
/// "a.cu"`; `position` itself when none begins there. It is a comment, wherever it stands, as ptxas has it;
/// the name in it knows no escapes.
std::uint32_t end_of_line_marker(std::string_view text, std::uint32_t position);

class Cursor {
 public:
  /// Reads text[begin, end); positions stay those of `text`.
  Cursor(std::string_view text, std::uint32_t begin, std::uint32_t end)
      : text_(text.substr(0, end)), position_(begin) {}

  /// Where the next token begins (white space and comments are skipped first).
  std::uint32_t position();
  /// One past the last token taken.
  std::uint32_t end_of_last() const { return last_end_; }
  bool at_end();
  /// The next token's first character; '\0' at the end.
  char peek();

  /// Takes the character when it is next.
  bool accept(char c);
  /// Takes the character or fails with "expected '<c>' <context>".
  bool expect(char c, std::string_view context);
  /// [A-Za-z_$%][A-Za-z0-9_$]*; empty (and nothing taken) when the next token is something else.
  std::string_view identifier();
  /// ".word", the dot included; empty when something else is next.
  std::string_view directive();
  /// Takes the directive when it is next.
  bool accept_directive(std::string_view name);
  /// A quoted string, without the quotes; nullopt (and nothing taken) when something else is next.
  std::optional<std::string_view> quoted();
  /// An unsigned literal: decimal, 0x, 0b or octal, with an optional U; nullopt when something else is next.
  std::optional<std::uint64_t> integer();
  /// Letters, digits and dots in one run, "9.0", "sm_90a"; empty when something else is next.
  std::string_view word();

  /// Skips from an opening bracket to its partner; strings and comments inside do not count.
  void skip_group();
  /// Skips to (not over) the first of `stops` outside of brackets, strings and comments; false when the text
  /// ended first.
  bool skip_to(std::string_view stops);
  /// Moves to an absolute position, also backwards.
  void move_to(std::uint32_t position) { position_ = position; }
  /// Takes the next token, of `size` bytes.
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
  /// "';'" or "end of text": the next token, for messages.
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

/// How many newlines there are; several bytes at a time.
std::uint32_t count_newlines(std::string_view text);

/// Line and column of a byte, both from 1.
SourceLocation locate(std::string_view text, std::uint32_t position);

}  // namespace lynxpp::ptx
