#include "cod/word_scheme.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <vector>

#include "support/text.h"

namespace lynxpp::cod {
namespace {

constexpr std::uint32_t usual_threshold = 0xff;
constexpr std::uint32_t greatest_threshold = 0x7fffffff;

const std::vector<std::string>& item_names() {
  static const std::vector<std::string> names{"replay", "basic",     "static", "plain", "shared",
                                              "global", "threshold", "sample", "seed"};
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
    const auto& names = item_names();
    if (std::ranges::find(names, name) == names.end()) {
      const std::string close = closest_match(name, names);
      return wrong("unknown scheme '" + name + "'",
                   close.empty() ? "expected replay, basic, static, plain, shared, global, threshold, "
                                   "sample, seed"
                                 : "did you mean '" + close + "'?");
    }
    if (!seen_.insert(name).second) return wrong("'" + name + "' is specified twice", "remove one of them");
    const bool takes_number = name == "shared" || name == "threshold" || name == "sample" || name == "seed";
    if (!takes_number && value) return wrong("'" + name + "' takes no number", "write '" + name + "'");
    if (name == "plain") scheme_.is_plain = true;
    if (name == "global") scheme_.stays_global = true;
    if (name == "replay" || name == "basic" || name == "static") return read_analysis(name);
    return takes_number ? read_number(name, value) : success();
  }

  Status read_analysis(const std::string& name) {
    if (!analysis_.empty())
      return wrong("'" + name + "' and '" + analysis_ + "' cannot be combined", "choose one of them");
    analysis_ = name;
    if (name == "basic") scheme_.analysis = WordScheme::Analysis::none;
    if (name == "static") scheme_.analysis = WordScheme::Analysis::invariants;
    return success();
  }

  Status read_number(const std::string& name, std::optional<std::string_view> text) {
    if (name == "threshold" && !text) {
      scheme_.threshold = usual_threshold;
      return success();
    }
    std::uint32_t value = 0;
    const std::string_view digits = text.value_or(std::string_view{});
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool is_number = !digits.empty() && error == std::errc{} && end == digits.data() + digits.size();
    if (name == "shared") {
      if (!is_number || (value != 8 && value != 16 && value != 32))
        return wrong("counters in shared memory must have 8, 16 or 32 bits", "write 'shared=8'");
      scheme_.shared_bits = value;
    } else if (name == "threshold") {
      if (!is_number || value == 0 || value > greatest_threshold)
        return wrong("'threshold' must be between 1 and 2147483647", "write 'threshold=255'");
      scheme_.threshold = value;
    } else if (name == "sample") {
      if (!is_number || value < 2) return wrong("'sample' must be at least 2", "write 'sample=100'");
      scheme_.sample = value;
    } else {
      if (!is_number) return wrong("'seed' must be a 32-bit number", "write 'seed=1'");
      scheme_.seed = value;
    }
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

Result<WordScheme> parse_word_scheme(std::string_view text, const std::string& origin) {
  return SchemeReader(text, origin).read();
}

std::string text_of(const WordScheme& scheme) {
  std::string text;
  const auto add = [&](const std::string& item) { text += (text.empty() ? "" : ",") + item; };
  if (scheme.analysis == WordScheme::Analysis::none && scheme.sample == 1) add("basic");
  if (scheme.analysis == WordScheme::Analysis::invariants) add("static");
  if (scheme.is_plain) add("plain");
  if (scheme.shared_bits != 0) add("shared=" + std::to_string(scheme.shared_bits));
  if (scheme.stays_global) add("global");
  if (scheme.threshold != 0) add("threshold=" + std::to_string(scheme.threshold));
  if (scheme.sample > 1)
    add("sample=" + std::to_string(scheme.sample) + ",seed=" + std::to_string(scheme.seed));
  return text;
}

}  // namespace lynxpp::cod
