#include "interposer/configuration.h"

#include <charconv>
#include <cstdlib>
#include <limits>

#include "support/text.h"

namespace lynxpp::interposer {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool parse_number(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

Timing timing_of(const std::string& value) {
  if (value.empty() || value == "0") return Timing::off;
  if (value == "original") return Timing::originals;
  return value == "variant" ? Timing::variants : Timing::stages;
}

}  // namespace

Result<LaunchFilter> LaunchFilter::parse(const std::string& text) {
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
      return failure("LYNXPP_LAUNCHES: '" + std::string(range) + "' is no launch number and no range",
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

Configuration read_configuration(Diagnostics& problems) {
  Configuration configuration;
  if (const std::string pattern = environment("LYNXPP_KERNELS"); !pattern.empty()) {
    try {
      configuration.kernels.emplace(pattern, std::regex::ECMAScript | std::regex::optimize);
    } catch (const std::regex_error& error) {
      problems.push_back({Severity::error,
                          {},
                          "LYNXPP_KERNELS: '" + pattern + "' is no regular expression: " + error.what(),
                          "every kernel is instrumented"});
    }
  }
  Result<LaunchFilter> launches = LaunchFilter::parse(environment("LYNXPP_LAUNCHES"));
  if (launches) {
    configuration.launches = std::move(*launches);
  } else {
    for (Diagnostic& diagnostic : launches.error().diagnostics) problems.push_back(std::move(diagnostic));
  }
  configuration.output = environment("LYNXPP_OUTPUT");
  configuration.dump = environment("LYNXPP_DUMP");
  configuration.timing = timing_of(environment("LYNXPP_TIMING"));
  const std::string wide = environment("LYNXPP_WIDE_COUNTERS");
  configuration.wide_counters = !wide.empty() && wide != "0";
  return configuration;
}

}  // namespace lynxpp::interposer
