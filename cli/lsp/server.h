// A language server for specifications: what an editor asks, one message after the other, without input and
// output.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lynxpp::cli::lsp {

class Server {
 public:
  /// What to send for a message, in order. Whatever the message is, the answer is an error at worst.
  std::vector<std::string> handle(std::string_view message);
  /// An answer to a message that could not be read.
  static std::string refusal(std::string_view why);

  bool has_ended() const { return has_ended_; }
  /// As the protocol wants it: 0 when the editor has said `shutdown` before `exit`.
  int exit_code() const { return has_shut_down_ ? 0 : 1; }

 private:
  struct Exchange;
  void answer(Exchange& exchange);
  void notify(Exchange& exchange);
  void open(Exchange& exchange, bool is_change);
  void close(Exchange& exchange);
  void publish(Exchange& exchange, const std::string& uri, const std::string& text);
  /// Null, the exchange being answered with an error, when the message names no open document.
  const std::string* document_of(Exchange& exchange) const;
  void hover(Exchange& exchange) const;
  void define(Exchange& exchange) const;
  void complete(Exchange& exchange) const;

  std::map<std::string, std::string> documents_;  ///< texts by URI
  bool is_initialized_ = false;
  bool has_shut_down_ = false;
  bool has_ended_ = false;
};

/// The path of a "file:" URI; of others the URI.
std::string path_of(std::string_view uri);
/// The "file:" URI of an absolute path.
std::string uri_of(std::string_view path);

}  // namespace lynxpp::cli::lsp
