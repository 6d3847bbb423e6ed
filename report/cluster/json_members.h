// Splits a JSON object on one line into members without parsing their values, which are only copied.
#pragma once

#include <string_view>
#include <vector>

namespace lynxpp::report {

struct JsonMember {
  std::string_view name;   ///< as written, between its quotes
  std::string_view value;  ///< as written
};

/// Replaces `members` with the object's own members in order. Returns false if the line is not one complete
/// object.
bool split_members(std::string_view line, std::vector<JsonMember>& members);

/// Returns the value of the first member of this name; empty if it is missing.
std::string_view find_member(const std::vector<JsonMember>& members, std::string_view name);

}  // namespace lynxpp::report
