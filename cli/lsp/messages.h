// Base protocol messages of the language server protocol: a header with the length in bytes, then JSON.
#pragma once

#include <cstddef>
#include <istream>
#include <string>
#include <string_view>

namespace lynxpp::cli::lsp {

struct Incoming {
  /// refused: too long, skipped; broken: no valid header, so that the next message cannot be found
  enum class Kind { message, refused, broken, end };
  Kind kind = Kind::end;
  std::string text;  ///< a message's content, else the error
};

constexpr std::size_t most_bytes_of_a_message = std::size_t{8} << 20;

/// Waits for the next message.
Incoming read_message(std::istream& in, std::size_t most_bytes = most_bytes_of_a_message);

std::string with_header(std::string_view content);

}  // namespace lynxpp::cli::lsp
