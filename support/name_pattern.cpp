#include "support/name_pattern.h"

#include <re2/re2.h>

#include <mutex>
#include <unordered_map>
#include <utility>

#include "support/text.h"

namespace lynxpp {
namespace {

RE2::Options quiet() {
  RE2::Options options;
  options.set_log_errors(false);
  return options;
}

/// Returns the offset of the part that RE2 rejects. The same characters may appear earlier with another
/// meaning, as "\1" does in "\\1".
std::size_t offset_of_mistake(const std::string& text, const RE2& refused) {
  const std::string& part = refused.error_arg();
  std::size_t at = part.empty() ? std::string::npos : text.find(part);
  while (at != std::string::npos) {
    const RE2 beginning(re2::StringPiece(text).substr(0, at + part.size()), quiet());
    if (beginning.error_code() == refused.error_code() && beginning.error_arg() == part) return at;
    at = text.find(part, at + 1);
  }
  return 0;
}

std::string hint_for(const std::string& part) {
  if (part.starts_with("(?<") || part.starts_with("(?=") || part.starts_with("(?!"))
    return "patterns have RE2's syntax, which has no look-ahead and no look-behind";
  const bool is_reference = part.size() > 1 && part[0] == '\\' && part[1] >= '1' && part[1] <= '9';
  return is_reference ? "patterns have RE2's syntax, which has no backreferences" : "";
}

}  // namespace

struct NamePattern::Shared {
  explicit Shared(const std::string& pattern) : expression(pattern, quiet()) {}

  const RE2 expression;
  std::mutex searching;
  std::unordered_map<std::string, bool> found;  ///< by symbol
};

Result<NamePattern> NamePattern::parse(const std::string& text) {
  auto shared = std::make_shared<Shared>(text);
  const RE2& made = shared->expression;
  if (made.ok()) return NamePattern(std::move(shared));
  const std::string& part = made.error_arg();
  SourceLocation place;
  std::string where;
  if (!part.empty() && part != text) {
    const std::size_t offset = offset_of_mistake(text, made);
    place = {{}, 1, static_cast<std::uint32_t>(offset + 1), static_cast<std::uint32_t>(part.size())};
    where = " at character " + std::to_string(offset + 1);
  }
  const std::string& problem = made.error();  // "what: part"
  const bool names_part = !part.empty() && problem.ends_with(": " + part);
  const std::string what = names_part ? problem.substr(0, problem.size() - part.size() - 2) : problem;
  return failure_at(std::move(place),
                    "'" + text + "' is not a valid regular expression: " + what +
                        (where.empty() ? "" : " '" + part + "'" + where),
                    hint_for(part));
}

const std::string& NamePattern::text() const { return shared_->expression.pattern(); }

bool NamePattern::matches(const std::string& symbol) const {
  const std::lock_guard lock(shared_->searching);
  const auto [known, is_new] = shared_->found.try_emplace(symbol, false);
  if (is_new) {
    const RE2& expression = shared_->expression;
    known->second = RE2::PartialMatch(symbol, expression) || RE2::PartialMatch(demangle(symbol), expression);
  }
  return known->second;
}

}  // namespace lynxpp
