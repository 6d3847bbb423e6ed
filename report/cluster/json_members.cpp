#include "report/cluster/json_members.h"

#include <algorithm>
#include <cstddef>

#include "support/text.h"

namespace lynxpp::report {
namespace {

/// Scans a text; every step returns true if it found the expected token.
class Walker {
 public:
  explicit Walker(std::string_view text) : text_(text) {}

  bool take(char wanted) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  bool take_string(std::string_view& inside) {
    if (!take('"')) return false;
    const std::size_t begin = at_;
    if (!skip_string()) return false;
    inside = text_.substr(begin, at_ - 1 - begin);
    return true;
  }

  /// Takes a string, a number, a word, or bracketed text.
  bool take_value(std::string_view& value) {
    skip_blanks();
    const std::size_t begin = at_;
    std::size_t depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (depth == 0 && (c == ',' || c == '}' || c == ']')) break;
      ++at_;
      if (c == '"' && !skip_string()) return false;
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
    }
    value = trim(text_.substr(begin, at_ - begin));
    return depth == 0 && !value.empty();
  }

  bool is_at_end() {
    skip_blanks();
    return at_ == text_.size();
  }

 private:
  /// Skips from after the opening quote to after the closing one.
  bool skip_string() {
    while (at_ < text_.size()) {
      at_ = text_.find_first_of("\"\\", at_);
      if (at_ == std::string_view::npos) break;
      const char found = text_[at_++];
      if (found == '"') return true;
      ++at_;
    }
    at_ = text_.size();
    return false;
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

bool split_members(std::string_view line, std::vector<JsonMember>& members) {
  members.clear();
  Walker walker(line);
  if (!walker.take('{')) return false;
  if (walker.take('}')) return walker.is_at_end();
  do {
    JsonMember member;
    if (!walker.take_string(member.name) || !walker.take(':') || !walker.take_value(member.value))
      return false;
    members.push_back(member);
  } while (walker.take(','));
  return walker.take('}') && walker.is_at_end();
}

std::string_view find_member(const std::vector<JsonMember>& members, std::string_view name) {
  const auto found = std::ranges::find(members, name, &JsonMember::name);
  return found == members.end() ? std::string_view() : found->value;
}

}  // namespace lynxpp::report
