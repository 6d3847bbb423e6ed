#include "support/start_condition.h"

namespace lynxpp {

Result<StartCondition> StartCondition::parse(const std::string& text, const std::string& option) {
  const std::string range = "range=";
  if (text.empty()) return StartCondition{};
  if (text == "profiler") return StartCondition{Kind::profiler, {}};
  if (text.starts_with(range) && text.size() > range.size())
    return StartCondition{Kind::range, text.substr(range.size())};
  return failure(option + ": '" + text + "' is not a valid start condition",
                 "'profiler' (cuProfilerStart and cuProfilerStop) or 'range=NAME' (of NVTX)");
}

std::string StartCondition::outside() const {
  return kind == Kind::range ? "outside of the range '" + range + "'"
                             : "outside of cuProfilerStart and cuProfilerStop";
}

}  // namespace lynxpp
