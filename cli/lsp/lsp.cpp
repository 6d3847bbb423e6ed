#include <iostream>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/lsp/arguments.h"
#include "cli/lsp/messages.h"
#include "cli/lsp/server.h"

namespace lynxpp::cli {

int serve_editor(const LspArguments&) {
  std::ios::sync_with_stdio(false);
  lsp::Server server;
  const auto send = [](const std::string& content) { std::cout << lsp::with_header(content) << std::flush; };
  while (!server.has_ended()) {
    const lsp::Incoming incoming = lsp::read_message(std::cin);
    switch (incoming.kind) {
      case lsp::Incoming::Kind::message:
        for (const std::string& each : server.handle(incoming.text)) send(each);
        break;
      case lsp::Incoming::Kind::refused: send(lsp::Server::refusal(incoming.text)); break;
      case lsp::Incoming::Kind::broken:
        send(lsp::Server::refusal(incoming.text));
        print_error(incoming.text);
        return exit_input_error;
      case lsp::Incoming::Kind::end: return server.exit_code();
    }
    if (!std::cout) return exit_input_error;  // the editor has disconnected
  }
  return server.exit_code();
}

}  // namespace lynxpp::cli
