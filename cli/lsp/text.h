// The text of a specification as an editor sees it: positions in UTF-16 units, and the names in it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lynxpp::cli::lsp {

/// Lines and units count from 0.
struct Position {
  std::size_t line = 0;
  std::size_t character = 0;
};

struct Word {
  std::string_view text;
  std::size_t offset = 0;
  bool is_at_file_scope = false;  ///< outside of all braces and parentheses
};

/// Borrows the text, which is UTF-8.
class Text {
 public:
  explicit Text(std::string_view text);

  /// Returns the byte offset; a position past the end of a line or of the text is clamped to that end.
  std::size_t offset_of(Position position) const;
  /// Returns the position of a byte of a line, both counted from 1; clamps to the end of the line or text.
  Position position_of(std::size_t line, std::size_t column) const;
  std::string_view line(std::size_t number) const;  ///< Returns the line; empty past the last one.
  std::string_view line_of_offset(std::size_t offset) const;

  /// Returns the identifiers outside of comments and literals.
  const std::vector<Word>& words() const { return words_; }
  /// Returns the word that contains the byte or ends at it; null if none does.
  const Word* word_at(std::size_t offset) const;
  /// True if the byte is outside of comments and literals.
  bool is_code(std::size_t offset) const;

 private:
  void find_words();

  struct Span {
    std::size_t begin = 0;
    std::size_t end = 0;
    bool is_open = false;  ///< text typed at its end still belongs to it
  };
  std::string_view text_;
  std::vector<std::size_t> lines_;  ///< offset of each line's first byte
  std::vector<Word> words_;
  std::vector<Span> others_;  ///< comments and literals
};

bool is_name_character(char c);

}  // namespace lynxpp::cli::lsp
