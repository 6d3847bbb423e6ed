// A JSON object on one line, taken apart without being understood: what is copied needs no tree of values.
#pragma once

#include <string_view>
#include <vector>

namespace lynxpp::report {

struct JsonMember {
  std::string_view name;   ///< as written, between its quotes
  std::string_view value;  ///< as written
};

/// The object's own members in their order, replacing what `members` held. False: the line is no object that
/// ends on it.
bool split_members(std::string_view line, std::vector<JsonMember>& members);

/// The value of the first of this name; empty: there is none.
std::string_view find_member(const std::vector<JsonMember>& members, std::string_view name);

}  // namespace lynxpp::report
