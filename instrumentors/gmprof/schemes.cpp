#include "instrumentors/gmprof/schemes.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "support/text.h"

namespace lynxpp::gmprof {
namespace {

using cod::WordScheme;

constexpr std::uint32_t usual_threshold = 0xff;
constexpr std::uint32_t most = std::numeric_limits<std::uint32_t>::max();

constexpr std::pair<std::string_view, WordScheme::Analysis> analyses[] = {
    {"replay", WordScheme::Analysis::replay},
    {"basic", WordScheme::Analysis::none},
    {"static", WordScheme::Analysis::invariants}};

constexpr std::pair<std::string_view, bool WordScheme::*> flags[] = {{"plain", &WordScheme::is_plain},
                                                                     {"global", &WordScheme::stays_global}};

struct NumberedScheme {
  std::string_view name;
  std::uint32_t WordScheme::*number;
  std::uint32_t least, greatest;
  const char *requirement, *hint;
};
constexpr NumberedScheme numbered[] = {
    {"shared", &WordScheme::shared_bits, 8, 32, "counters in shared memory must have 8, 16 or 32 bits",
     "write 'shared=8'"},
    {"threshold", &WordScheme::threshold, 1, most / 2, "'threshold' must be between 1 and 2147483647",
     "write 'threshold=255'"},
    {"sample", &WordScheme::sample, 2, most, "'sample' must be at least 2", "write 'sample=100'"},
    {"seed", &WordScheme::seed, 0, most, "'seed' must be a 32-bit number", "write 'seed=1'"}};

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const auto& [name, analysis] : analyses) names.emplace_back(name);
  for (const auto& [name, flag] : flags) names.emplace_back(name);
  for (const NumberedScheme& each : numbered) names.emplace_back(each.name);
  return names;
}

class SchemeReader {
 public:
  SchemeReader(std::string_view text, const std::string& origin) : text_(text), origin_(origin) {}

  Result<WordScheme> read() {
    for (std::size_t begin = 0; begin <= text_.size();) {
      const std::size_t end = std::min(text_.find(',', begin), text_.size());
      item_ = trim(text_.substr(begin, end - begin));
      if (!item_.empty()) {
        if (Status understood = read_item(); !understood) return understood.error();
      }
      begin = end + 1;
    }
    item_ = trim(text_);
    if (Status agrees = finish(); !agrees) return agrees.error();
    return scheme_;
  }

 private:
  Failure wrong(const std::string& message, const std::string& hint) const {
    const auto column = static_cast<std::uint32_t>(item_.data() - text_.data()) + 1;
    const SourceLocation place{origin_, 1, column,
                               static_cast<std::uint32_t>(std::max<std::size_t>(item_.size(), 1))};
    return Failure{{{Severity::error, place, message, hint}}};
  }

  Status read_item() {
    const std::size_t equals = std::min(item_.find('='), item_.size());
    const std::string name(trim(item_.substr(0, equals)));
    std::optional<std::string_view> value;
    if (equals != item_.size()) value = trim(item_.substr(equals + 1));
    const std::vector<std::string> names = all_names();
    if (std::ranges::find(names, name) == names.end()) {
      const std::string close = closest_match(name, names);
      return wrong("unknown scheme '" + name + "'",
                   close.empty()
                       ? "expected replay, basic, static, plain, global, shared, threshold, sample, seed"
                       : "did you mean '" + close + "'?");
    }
    if (!seen_.insert(name).second) return wrong("'" + name + "' is specified twice", "remove one of them");
    const auto number = std::ranges::find(numbered, name, &NumberedScheme::name);
    if (number != std::end(numbered)) return read_number(*number, value);
    if (value) return wrong("'" + name + "' takes no number", "write '" + name + "'");
    for (const auto& [flag, member] : flags) scheme_.*member |= flag == name;
    for (const auto& [each, analysis] : analyses) {
      if (each != name) continue;
      if (!analysis_.empty())
        return wrong("'" + name + "' and '" + analysis_ + "' cannot be combined", "choose one of them");
      analysis_ = name;
      scheme_.analysis = analysis;
    }
    return success();
  }

  Status read_number(const NumberedScheme& scheme, std::optional<std::string_view> text) {
    std::uint32_t& value = scheme_.*scheme.number;
    if (scheme.number == &WordScheme::threshold && !text) {
      value = usual_threshold;
      return success();
    }
    const std::string_view digits = text.value_or(std::string_view{});
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool is_number = !digits.empty() && error == std::errc{} && end == digits.data() + digits.size();
    const bool is_width = scheme.number != &WordScheme::shared_bits || std::has_single_bit(value);
    if (!is_number || value < scheme.least || value > scheme.greatest || !is_width)
      return wrong(scheme.requirement, scheme.hint);
    return success();
  }

  Status finish() {
    if (scheme_.stays_global && scheme_.shared_bits != 0)
      return wrong("'global' and 'shared' cannot be combined", "choose one of them");
    if (scheme_.sample > 1) {
      if (scheme_.is_plain || analysis_ == "static" || analysis_ == "replay")
        return wrong("sampling counts accesses one by one and with atomic operations",
                     "remove '" + std::string(scheme_.is_plain ? "plain" : analysis_) + "'");
      scheme_.analysis = WordScheme::Analysis::none;
    } else if (seen_.contains("seed")) {
      return wrong("'seed' requires 'sample'", "add 'sample=100'");
    }
    if (scheme_.shared_bits == 0 || scheme_.shared_bits == 32) return success();
    const std::uint32_t greatest = (1u << scheme_.shared_bits) - 1;
    if (scheme_.threshold > greatest)
      return wrong("a counter of " + std::to_string(scheme_.shared_bits) + " bits does not reach " +
                       std::to_string(scheme_.threshold),
                   "its maximum is " + std::to_string(greatest));
    if (scheme_.threshold == 0) scheme_.threshold = greatest;
    return success();
  }

  std::string_view text_;
  const std::string& origin_;
  std::string_view item_;
  std::set<std::string> seen_;
  std::string analysis_;
  WordScheme scheme_;
};

}  // namespace

Result<WordScheme> parse_schemes(std::string_view text, const std::string& origin) {
  return SchemeReader(text, origin).read();
}

}  // namespace lynxpp::gmprof
