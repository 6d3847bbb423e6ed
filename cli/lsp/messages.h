// Messages of the language server protocol's base: a header with the length, then so many bytes of JSON.
#pragma once

#include <cstddef>
#include <istream>
#include <string>
#include <string_view>

namespace lynxpp::cli::lsp {

struct Incoming {
  /// refused: longer than it may be, and left out; broken: no header, so that nobody knows where the next
  /// message begins
  enum class Kind { message, refused, broken, end };
  Kind kind = Kind::end;
  std::string text;  ///< of a message its content, else what is wrong
};

constexpr std::size_t most_bytes_of_a_message = std::size_t{8} << 20;

/// Waits for the next one.
Incoming read_message(std::istream& in, std::size_t most_bytes = most_bytes_of_a_message);

std::string with_header(std::string_view content);

}  // namespace lynxpp::cli::lsp
