#include "support/json.h"

#include <algorithm>
#include <vector>

namespace lynxpp {
namespace {

/// Returns the offset after the string that begins at the quote text[at].
std::size_t after_string(std::string_view text, std::size_t at) {
  ++at;
  while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return at + 1;
}

/// Returns the offset after the comment that begins at the slash text[at].
std::size_t after_comment(std::string_view text, std::size_t at) {
  const bool is_block = text.substr(at).starts_with("/*");
  if (!is_block && !text.substr(at).starts_with("//")) return at + 1;
  const std::size_t end = is_block ? text.find("*/", at + 2) : text.find('\n', at);
  return end == std::string_view::npos ? text.size() : end + (is_block ? 2 : 1);
}

}  // namespace

std::optional<JsonProblem> beyond_json_limits(std::string_view text, bool has_comments) {
  std::vector<std::size_t> members;  // one count per open value
  for (std::size_t at = 0; at < text.size();) {
    switch (text[at]) {
      case '"': at = after_string(text, at); continue;
      case '/': at = has_comments ? after_comment(text, at) : at + 1; continue;
      case '[':
      case '{':
        if (members.size() == deepest_json) return JsonProblem{at, "the JSON is nested too deeply here"};
        members.push_back(0);
        break;
      case ']':
      case '}':
        if (!members.empty()) members.pop_back();
        break;
      case ':':
        if (!members.empty() && ++members.back() > most_json_members)
          return JsonProblem{
              at, "the object has more than " + std::to_string(most_json_members) + " members here"};
        break;
      default: break;
    }
    ++at;
  }
  return std::nullopt;
}

/// "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error …" ▶ "syntax error …".
std::string reason_of_json(std::string text) {
  if (text.starts_with("[json.exception")) text.erase(0, text.find("] ") + 2);
  if (text.starts_with("parse error at")) text.erase(0, text.find(": ") + 2);
  return text;
}

SourceLocation json_location(std::string_view text, std::size_t offset, SourceLocation begin) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 == 0
  begin.line += static_cast<std::uint32_t>(std::ranges::count(before, '\n'));
  begin.column =
      static_cast<std::uint32_t>(before.size() - line_begin + (line_begin == 0 ? begin.column : 1));
  return begin;
}

}  // namespace lynxpp
