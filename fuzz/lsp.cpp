// Handles any bytes as input from an editor: as a stream of messages with headers, and each line as a message
// to a running server. Every answer must be a message.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "cli/lsp/messages.h"
#include "cli/lsp/server.h"

namespace {

using lynxpp::cli::lsp::Incoming;
using lynxpp::cli::lsp::read_message;
using lynxpp::cli::lsp::Server;

constexpr std::size_t most_bytes = std::size_t{1} << 16;

void require(bool holds) {
  if (!holds) std::abort();
}

void handle(Server& server, const std::string& message) {
  for (const std::string& answer : server.handle(message))
    require(nlohmann::json::parse(answer, nullptr, false).is_object());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (text.find("include") != std::string::npos) return 0;  // do not read this machine's files
  std::istringstream stream(text);
  Server of_stream;
  for (Incoming each = read_message(stream, most_bytes);
       each.kind == Incoming::Kind::message || each.kind == Incoming::Kind::refused;
       each = read_message(stream, most_bytes)) {
    if (each.kind == Incoming::Kind::message) handle(of_stream, each.text);
  }
  Server of_lines;
  handle(of_lines, R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{}})");
  std::istringstream lines(text);
  for (std::string line; !of_lines.has_ended() && std::getline(lines, line);) handle(of_lines, line);
  return 0;
}
