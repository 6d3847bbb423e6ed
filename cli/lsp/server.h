// A language server for specifications: handles an editor's messages one by one, without doing input or
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
  /// Returns the messages to send in reply, in order. An invalid message yields at worst an error reply.
  std::vector<std::string> handle(std::string_view message);
  /// Returns the reply to a message that could not be read.
  static std::string refusal(std::string_view why);

  bool has_ended() const { return has_ended_; }
  /// As the protocol requires, 0 if the editor sent `shutdown` before `exit`.
  int exit_code() const { return has_shut_down_ ? 0 : 1; }

 private:
  struct Exchange;
  void answer(Exchange& exchange);
  void notify(Exchange& exchange);
  void open(Exchange& exchange, bool is_change);
  void close(Exchange& exchange);
  void publish(Exchange& exchange, const std::string& uri, const std::string& text);
  /// If the message names no open document, replies with an error and returns null.
  const std::string* document_of(Exchange& exchange) const;
  void hover(Exchange& exchange) const;
  void define(Exchange& exchange) const;
  void complete(Exchange& exchange) const;

  std::map<std::string, std::string> documents_;  ///< texts by URI
  bool is_initialized_ = false;
  bool has_shut_down_ = false;
  bool has_ended_ = false;
};

/// Returns the path of a "file:" URI; other URIs are returned unchanged.
std::string path_of(std::string_view uri);
/// Returns the "file:" URI of an absolute path.
std::string uri_of(std::string_view path);

}  // namespace lynxpp::cli::lsp
