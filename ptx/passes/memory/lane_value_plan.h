// The values that lanes compute once from their address differences, and the registers that hold them at
// each site (ptx/passes/memory/lane_values.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "ptx/ir/code.h"
#include "ptx/passes/probes/routine.h"

namespace lynxpp::ptx {

/// Names of lane values, as in cod::SiteValue.
inline constexpr std::string_view sector_threshold_value = "sector_threshold";
inline constexpr std::string_view hoisted_banks_value = "hoisted_banks";
/// Computed by more lanes than make the access; the routine banks_of_some_lanes computes hoisted_banks from
/// it at the access.
inline constexpr std::string_view bank_lanes_value = "bank_lanes";
inline constexpr std::string_view banks_of_some_lanes_value = "banks_of_some_lanes";
/// The output of a routine that computes a lane value.
inline constexpr std::string_view lane_result_value = "lane_result";
/// The value of a site with RowSectors, which no routine reads: odd if the warp is not a full row, otherwise
/// the distance from the lane's address to that of lane 0, modulo 32.
inline constexpr std::string_view lane_row_value = "lane_row";

constexpr bool is_lane_value(std::string_view site_value) {
  return site_value == sector_threshold_value || site_value == hoisted_banks_value;
}

/// A site: the instruction's id in the unit and the index of its access.
using LaneSite = std::pair<std::uint32_t, std::uint32_t>;

struct LaneValuePlan {
  /// The register that holds a value at a site.
  std::map<std::pair<LaneSite, std::string>, VirtualRegister> registers;

  /// Null: the lanes do not know the value there.
  const VirtualRegister* find(const LaneSite& site, std::string_view value) const {
    const auto found = registers.find(std::pair(site, std::string(value)));
    return found == registers.end() ? nullptr : &found->second;
  }
  /// True if all lane values that the routine reads are available.
  bool serves(const LaneSite& site, const ProbeRoutine& routine) const {
    return std::ranges::all_of(routine.site_values(), [&](const std::string& value) {
      return !is_lane_value(value) || find(site, value) != nullptr;
    });
  }
};

}  // namespace lynxpp::ptx
