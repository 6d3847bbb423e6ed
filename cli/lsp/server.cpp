#include "cli/lsp/server.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/lsp/definition.h"
#include "cli/lsp/diagnose.h"
#include "cli/lsp/embedded.h"
#include "cli/lsp/text.h"
#include "support/json.h"
#include "support/text.h"

namespace lynxpp::cli::lsp {
namespace {

using Json = nlohmann::json;

constexpr std::size_t most_documents = 256;

/// Error codes of JSON-RPC and of the protocol.
enum ErrorCode {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_parameters = -32602,
  not_initialized = -32002,
};

std::string written(const Json& message) {
  return message.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string error_message(const Json& id, int code, std::string_view why) {
  return written(
      {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", std::string(why)}}}});
}

/// Follows a path of member names; null if a member is missing.
const Json* member_of(const Json& object, std::initializer_list<const char*> path) {
  const Json* found = &object;
  for (const char* const name : path) {
    if (!found->is_object()) return nullptr;
    const auto next = found->find(name);
    if (next == found->end()) return nullptr;
    found = &*next;
  }
  return found;
}

const std::string* string_of(const Json& object, std::initializer_list<const char*> path) {
  const Json* const found = member_of(object, path);
  return found == nullptr ? nullptr : found->get_ptr<const Json::string_t*>();
}

std::optional<std::size_t> number_of(const Json& object, std::initializer_list<const char*> path) {
  const Json* const found = member_of(object, path);
  if (found == nullptr || !found->is_number_unsigned()) return std::nullopt;
  return found->get<std::uint64_t>();
}

Json json_of(Position position) { return {{"line", position.line}, {"character", position.character}}; }

Json markdown(std::string text) { return {{"kind", "markdown"}, {"value", std::move(text)}}; }

Json json_of(const Diagnostic& diagnostic, const Text& text) {
  const SourceLocation& location = diagnostic.location;
  const std::size_t end = std::size_t{location.column} + location.length;
  return {{"range",
           {{"start", json_of(text.position_of(location.line, location.column))},
            {"end", json_of(text.position_of(location.line, end))}}},
          {"severity", diagnostic.severity == Severity::error     ? 1
                       : diagnostic.severity == Severity::warning ? 2
                                                                  : 3},
          {"source", "lynxpp"},
          {"message", diagnostic.message + (diagnostic.hint.empty() ? "" : "\nhint: " + diagnostic.hint)}};
}

/// Returns the forms of a name and its description in the reference.
std::string hover_text(const Entry& entry) {
  std::string text = "```cod";
  for (const std::string& form : entry.forms) text += "\n" + form;
  return text + "\n```\n" + entry.text;
}

/// Completion kinds, numbered as in the protocol.
enum CompletionKind { of_function = 3, of_variable = 6, of_keyword = 14, of_event = 23, of_constant = 21 };

CompletionKind kind_of(Entry::Kind kind) {
  if (kind == Entry::Kind::label) return of_event;
  return kind == Entry::Kind::extent ? of_constant : of_function;
}

/// Returns the name's first occurrence if it is at file scope, else null.
const Word* declaration_of(const Text& text, std::string_view name) {
  for (const Word& word : text.words()) {
    if (word.is_at_file_scope && word.text == name) return &word;
  }
  return nullptr;
}

std::string without_indent(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  return begin == std::string_view::npos ? std::string() : std::string(line.substr(begin));
}

}  // namespace

/// A message and the replies to it.
struct Server::Exchange {
  std::string method;
  Json id;
  Json parameters = Json::object();
  std::vector<std::string> sent = {};

  void result(const Json& value) {
    sent.push_back(written({{"jsonrpc", "2.0"}, {"id", id}, {"result", value}}));
  }
  void error(int code, std::string_view why) { sent.push_back(error_message(id, code, why)); }
};

std::string Server::refusal(std::string_view why) { return error_message(nullptr, parse_error, why); }

std::vector<std::string> Server::handle(std::string_view message) {
  const Result<Json> read = parse_json<Json>(message, {"message", 1, 1, 1});
  if (!read) return {refusal(trim(render(read.error().diagnostics)))};
  const Json& parsed = *read;
  if (!parsed.is_object()) return {error_message(nullptr, invalid_request, "the message is not an object")};
  const Json* const id = member_of(parsed, {"id"});
  const std::string* const method = string_of(parsed, {"method"});
  const bool is_answer =
      method == nullptr && id != nullptr && (parsed.contains("result") || parsed.contains("error"));
  if (is_answer) return {};  // the server sends no requests
  const bool is_good_id = id == nullptr || id->is_string() || id->is_number_integer();
  if (method == nullptr || !is_good_id)
    return {error_message(
        is_good_id && id != nullptr ? *id : Json(nullptr), invalid_request,
        method == nullptr ? "the message has no method" : "an id must be a number or a string")};
  Exchange exchange{*method, id == nullptr ? Json(nullptr) : *id};
  if (const Json* const parameters = member_of(parsed, {"params"})) exchange.parameters = *parameters;
  if (id == nullptr) {
    notify(exchange);
  } else {
    answer(exchange);
  }
  return std::move(exchange.sent);
}

void Server::answer(Exchange& exchange) {
  if (exchange.method == "initialize") {
    is_initialized_ = true;
    exchange.result({{"capabilities",
                      {{"positionEncoding", "utf-16"},
                       {"textDocumentSync", {{"openClose", true}, {"change", 1}}},
                       {"hoverProvider", true},
                       {"definitionProvider", true},
                       {"completionProvider", Json::object()}}},
                     {"serverInfo", {{"name", "lynxpp"}, {"version", LYNXPP_VERSION}}}});
  } else if (!is_initialized_) {
    exchange.error(not_initialized, "'initialize' must come first");
  } else if (has_shut_down_) {
    exchange.error(invalid_request, "only 'exit' may follow 'shutdown'");
  } else if (exchange.method == "shutdown") {
    has_shut_down_ = true;
    exchange.result(nullptr);
  } else if (exchange.method == "textDocument/hover") {
    hover(exchange);
  } else if (exchange.method == "textDocument/definition") {
    define(exchange);
  } else if (exchange.method == "textDocument/completion") {
    complete(exchange);
  } else {
    exchange.error(method_not_found, "the method '" + exchange.method + "' is unknown");
  }
}

void Server::notify(Exchange& exchange) {
  if (exchange.method == "exit") {
    has_ended_ = true;
  } else if (!is_initialized_ || has_shut_down_) {
    return;
  } else if (exchange.method == "textDocument/didOpen") {
    open(exchange, false);
  } else if (exchange.method == "textDocument/didChange") {
    open(exchange, true);
  } else if (exchange.method == "textDocument/didClose") {
    close(exchange);
  }
}

/// Notifications have no answer, so an invalid one is ignored.
void Server::open(Exchange& exchange, bool is_change) {
  const std::string* const uri = string_of(exchange.parameters, {"textDocument", "uri"});
  const std::string* text = string_of(exchange.parameters, {"textDocument", "text"});
  if (is_change) {
    // Each change is the whole text: the server requests full synchronization.
    const Json* const changes = member_of(exchange.parameters, {"contentChanges"});
    const bool is_list = changes != nullptr && changes->is_array() && !changes->empty();
    text = is_list && !changes->back().contains("range") ? string_of(changes->back(), {"text"}) : nullptr;
  }
  if (uri == nullptr || text == nullptr) return;
  if (!documents_.contains(*uri) && (is_change || documents_.size() == most_documents)) return;
  documents_[*uri] = *text;
  publish(exchange, *uri, *text);
}

void Server::close(Exchange& exchange) {
  const std::string* const uri = string_of(exchange.parameters, {"textDocument", "uri"});
  if (uri == nullptr || documents_.erase(*uri) == 0) return;
  exchange.sent.push_back(written({{"jsonrpc", "2.0"},
                                   {"method", "textDocument/publishDiagnostics"},
                                   {"params", {{"uri", *uri}, {"diagnostics", Json::array()}}}}));
}

void Server::publish(Exchange& exchange, const std::string& uri, const std::string& text) {
  const Text lines(text);
  Json list = Json::array();
  for (const Diagnostic& each : diagnose(text, path_of(uri))) list.push_back(json_of(each, lines));
  Json parameters = {{"uri", uri}, {"diagnostics", std::move(list)}};
  if (const auto version = number_of(exchange.parameters, {"textDocument", "version"}))
    parameters["version"] = *version;
  exchange.sent.push_back(written({{"jsonrpc", "2.0"},
                                   {"method", "textDocument/publishDiagnostics"},
                                   {"params", std::move(parameters)}}));
}

const std::string* Server::document_of(Exchange& exchange) const {
  const std::string* const uri = string_of(exchange.parameters, {"textDocument", "uri"});
  const auto found = uri == nullptr ? documents_.end() : documents_.find(*uri);
  if (found == documents_.end()) exchange.error(invalid_parameters, "the message names no open document");
  return found == documents_.end() ? nullptr : &found->second;
}

namespace {

std::optional<Position> position_in(const Json& parameters) {
  const auto line = number_of(parameters, {"position", "line"});
  const auto character = number_of(parameters, {"position", "character"});
  if (!line || !character) return std::nullopt;
  return Position{*line, *character};
}

}  // namespace

void Server::hover(Exchange& exchange) const {
  const std::string* const document = document_of(exchange);
  if (document == nullptr) return;
  const auto position = position_in(exchange.parameters);
  if (!position) return exchange.error(invalid_parameters, "the message has no position");
  const Text text(*document);
  const Word* const word = text.word_at(text.offset_of(*position));
  if (word == nullptr) return exchange.result(nullptr);
  const auto entry = reference().find(word->text);
  if (entry != reference().end()) return exchange.result({{"contents", markdown(hover_text(entry->second))}});
  const Word* const declaration = declaration_of(text, word->text);
  if (declaration == nullptr) return exchange.result(nullptr);
  const std::string line = without_indent(text.line_of_offset(declaration->offset));
  exchange.result({{"contents", markdown("```cod\n" + line + "\n```")}});
}

void Server::define(Exchange& exchange) const {
  const std::string* const document = document_of(exchange);
  if (document == nullptr) return;
  const auto position = position_in(exchange.parameters);
  if (!position) return exchange.error(invalid_parameters, "the message has no position");
  const Text text(*document);
  const std::size_t offset = text.offset_of(*position);
  const Word* const word = text.word_at(offset);
  if (word == nullptr || reference().contains(word->text)) return exchange.result(nullptr);
  const std::string& uri = *string_of(exchange.parameters, {"textDocument", "uri"});
  const auto found = definition_at(*document, offset, path_of(uri));
  if (!found) return exchange.result(nullptr);
  exchange.result({{"uri", found->path.empty() ? uri : uri_of(found->path)},
                   {"range", {{"start", json_of(found->begin)}, {"end", json_of(found->end)}}}});
}

void Server::complete(Exchange& exchange) const {
  const std::string* const document = document_of(exchange);
  if (document == nullptr) return;
  const auto position = position_in(exchange.parameters);
  if (!position) return exchange.error(invalid_parameters, "the message has no position");
  const Text text(*document);
  const std::size_t offset = text.offset_of(*position);
  Json items = Json::array();
  if (!text.is_code(offset)) return exchange.result(items);
  std::size_t begin = offset;
  while (begin > 0 && is_name_character((*document)[begin - 1])) --begin;
  const std::string_view typed = std::string_view(*document).substr(begin, offset - begin);
  std::map<std::string_view, Json> found;  // each name once
  for (const auto& [name, entry] : reference()) {
    if (name.starts_with(typed))
      found[name] = {{"label", name},
                     {"kind", kind_of(entry.kind)},
                     {"detail", entry.forms.front()},
                     {"documentation", markdown(hover_text(entry))}};
  }
  for (const std::string_view word : keywords()) {
    if (word.starts_with(typed)) found[word] = {{"label", word}, {"kind", of_keyword}};
  }
  std::map<std::string_view, std::size_t> declared;  // the first occurrence of each name at file scope
  for (const Word& word : text.words()) {
    if (word.is_at_file_scope) declared.try_emplace(word.text, word.offset);
  }
  for (const Word& word : text.words()) {
    // Skip the word that is being typed.
    if (word.offset == begin || !word.text.starts_with(typed) || found.contains(word.text)) continue;
    found[word.text] = {{"label", word.text}, {"kind", of_variable}};
    if (const auto declaration = declared.find(word.text); declaration != declared.end())
      found[word.text]["detail"] = without_indent(text.line_of_offset(declaration->second));
  }
  for (auto& [name, item] : found) items.push_back(std::move(item));
  exchange.result(items);
}

std::string uri_of(std::string_view path) {
  constexpr std::string_view plain = "/-._~";
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string uri = "file://";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_name_character(c) || plain.find(c) != plain.npos) {
      uri += c;
    } else {
      uri += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return uri;
}

std::string path_of(std::string_view uri) {
  constexpr std::string_view scheme = "file://";
  if (!uri.starts_with(scheme)) return std::string(uri);
  uri.remove_prefix(scheme.size());
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'                     ? c - '0'
           : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                    : -1;
  };
  std::string path;
  for (std::size_t i = uri.find('/'); i < uri.size(); ++i) {
    const bool is_code =
        uri[i] == '%' && i + 2 < uri.size() && digit(uri[i + 1]) >= 0 && digit(uri[i + 2]) >= 0;
    path += is_code ? static_cast<char>(digit(uri[i + 1]) * 16 + digit(uri[i + 2])) : uri[i];
    if (is_code) i += 2;
  }
  return path;
}

}  // namespace lynxpp::cli::lsp
