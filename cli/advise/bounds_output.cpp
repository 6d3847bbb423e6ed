#include "cli/advise/bounds_output.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace lynxpp::cli {
namespace {

using models::cumapz::Resource;

double microseconds(double cycles, const models::Machine& machine) {
  return cycles / machine.timing->core_mhz;
}

}  // namespace

std::string microseconds_text(const models::cumapz::Bounds& bounds, const models::Machine& machine) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", microseconds(bounds.cycles(), machine));
  return text;
}

nlohmann::ordered_json bounds_json(const models::cumapz::Bounds& bounds, const models::Machine& machine) {
  nlohmann::ordered_json busy;
  for (std::size_t i = 0; i < models::cumapz::resources; ++i)
    busy[name_of(static_cast<Resource>(i))] = microseconds(bounds.busy[i], machine);
  return {{"microseconds", microseconds(bounds.cycles(), machine)},
          {"by", name_of(bounds.slowest())},
          {"busy", std::move(busy)}};
}

}  // namespace lynxpp::cli
