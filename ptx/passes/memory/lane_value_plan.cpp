#include "ptx/passes/memory/lane_value_plan.h"

#include <algorithm>

namespace lynxpp::ptx {

bool is_lane_value(std::string_view site_value) {
  return site_value == sector_threshold_value || site_value == hoisted_banks_value;
}

const VirtualRegister* LaneValuePlan::find(const LaneSite& site, std::string_view value) const {
  const auto found = registers.find(std::pair(site, std::string(value)));
  return found == registers.end() ? nullptr : &found->second;
}

bool LaneValuePlan::serves(const LaneSite& site, const ProbeRoutine& routine) const {
  return std::ranges::all_of(routine.site_values(), [&](const std::string& value) {
    return !is_lane_value(value) || find(site, value) != nullptr;
  });
}

}  // namespace lynxpp::ptx
