#include "cli/lsp/messages.h"

#include <charconv>
#include <cstdint>
#include <optional>

namespace lynxpp::cli::lsp {
namespace {

constexpr std::size_t most_bytes_of_a_line = 4096;
constexpr int most_lines = 32;
/// A longer message means that the header is invalid.
constexpr std::uint64_t most_bytes_to_skip = std::uint64_t{1} << 30;

/// Returns the line without its end; nullopt if the input ends early or the line is too long.
std::optional<std::string> read_line(std::istream& in) {
  std::string line;
  for (char c = 0; in.get(c);) {
    if (c == '\n') {
      if (line.ends_with('\r')) line.pop_back();
      return line;
    }
    if (line.size() == most_bytes_of_a_line) return std::nullopt;
    line += c;
  }
  return std::nullopt;
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool is_name_of_length(std::string_view name) {
  constexpr std::string_view wanted = "content-length";
  if (name.size() != wanted.size()) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if ((static_cast<unsigned char>(name[i]) | 0x20) != static_cast<unsigned char>(wanted[i])) return false;
  }
  return true;
}

Incoming broken(std::string why) { return {Incoming::Kind::broken, std::move(why)}; }

/// A message's header, or the error in it.
struct Header {
  std::optional<std::uint64_t> length;
  Incoming problem;
};

Header read_header(std::istream& in) {
  Header header;
  header.problem.kind = Incoming::Kind::message;
  for (int lines = 0; lines < most_lines; ++lines) {
    if (lines == 0 && in.peek() == std::istream::traits_type::eof()) {
      header.problem = {};
      return header;
    }
    const std::optional<std::string> line = read_line(in);
    if (!line) {
      header.problem = broken("the header of a message is incomplete or has a line that is too long");
      return header;
    }
    if (line->empty()) {
      if (!header.length) header.problem = broken("a message without Content-Length");
      return header;
    }
    const std::size_t colon = line->find(':');
    if (colon == std::string::npos || !is_name_of_length(std::string_view(*line).substr(0, colon))) continue;
    const std::string_view digits = without_blanks(std::string_view(*line).substr(colon + 1));
    std::uint64_t length = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
    if (error != std::errc() || end != digits.data() + digits.size() || length > most_bytes_to_skip) {
      header.problem = broken("Content-Length is not a valid length");
      return header;
    }
    header.length = length;
  }
  header.problem = broken("a header with too many lines");
  return header;
}

}  // namespace

Incoming read_message(std::istream& in, std::size_t most_bytes) {
  const Header header = read_header(in);
  if (header.problem.kind != Incoming::Kind::message) return header.problem;
  const std::uint64_t length = *header.length;
  if (length > most_bytes) {
    in.ignore(static_cast<std::streamsize>(length));
    return {Incoming::Kind::refused, "a message of " + std::to_string(length) + " bytes is longer than the " +
                                         std::to_string(most_bytes) + " that are read"};
  }
  Incoming message{Incoming::Kind::message, std::string(length, '\0')};
  in.read(message.text.data(), static_cast<std::streamsize>(length));
  if (static_cast<std::uint64_t>(in.gcount()) != length) return broken("the input ends within a message");
  return message;
}

std::string with_header(std::string_view content) {
  return "Content-Length: " + std::to_string(content.size()) + "\r\n\r\n" + std::string(content);
}

}  // namespace lynxpp::cli::lsp
