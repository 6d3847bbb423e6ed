#include "support/launch_filter.h"

#include <charconv>
#include <limits>

#include "support/text.h"

namespace lynxpp {
namespace {

bool parse_number(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

}  // namespace

Result<LaunchFilter> LaunchFilter::parse(const std::string& text, const std::string& option) {
  LaunchFilter filter;
  if (trim(text).empty()) return filter;
  for (const std::string& field : split(text, ',')) {
    const std::string_view range = trim(field);
    const std::size_t dash = range.find('-');
    std::uint64_t first = 0;
    std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
    bool good = parse_number(range.substr(0, dash), first);
    if (dash == std::string_view::npos) {
      last = first;
    } else if (dash + 1 != range.size()) {
      good = good && parse_number(range.substr(dash + 1), last) && first <= last;
    }
    if (!good) {
      return failure(option + ": '" + std::string(range) + "' is neither a launch number nor a range",
                     "write numbers and ranges such as 0-9,100,200-");
    }
    filter.ranges_.emplace_back(first, last);
  }
  return filter;
}

bool LaunchFilter::wants(std::uint64_t launch) const {
  if (ranges_.empty()) return true;
  for (const auto& [first, last] : ranges_) {
    if (launch >= first && launch <= last) return true;
  }
  return false;
}

}  // namespace lynxpp
