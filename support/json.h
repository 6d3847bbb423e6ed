// JSON from untrusted sources: files and messages.
//
// nlohmann's values are copied, compared and printed recursively, and the ordered ones look up every new
// member among all others. Deeply nested text and objects with very many members are therefore rejected
// before parsing.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "support/result.h"

namespace lynxpp {

inline constexpr std::size_t deepest_json = 100;
inline constexpr std::size_t most_json_members = 10'000;  ///< of one object

struct JsonProblem {
  std::size_t offset = 0;
  std::string message;
};

/// Returns the first position where the text exceeds the limits above. The result is unspecified for text
/// that is not JSON.
std::optional<JsonProblem> beyond_json_limits(std::string_view text, bool has_comments = false);

/// Returns the text of nlohmann's exception without its location.
std::string reason_of_json(std::string text);

/// Returns the location of text[offset], if the text begins at `begin`.
SourceLocation json_location(std::string_view text, std::size_t offset, SourceLocation begin);

/// Parses a text that begins at `begin` of its file. Json is nlohmann::json or a similar type, which the
/// caller includes.
template <typename Json>
Result<Json> parse_json(std::string_view text, const SourceLocation& begin, bool has_comments = false) {
  if (auto problem = beyond_json_limits(text, has_comments))
    return failure_at(json_location(text, problem->offset, begin), std::move(problem->message));
  try {
    return Json::parse(text, nullptr, true, has_comments);
  } catch (const typename Json::parse_error& error) {
    return failure_at(json_location(text, error.byte == 0 ? 0 : error.byte - 1, begin),
                      reason_of_json(error.what()));
  } catch (const typename Json::exception& error) {  // a number that is out of range of every type
    return failure_at(begin, reason_of_json(error.what()));
  }
}

}  // namespace lynxpp
