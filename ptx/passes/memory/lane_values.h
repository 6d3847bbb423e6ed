// What the lanes of a warp compute about the differences of their addresses, once for many accesses
// (ptx/analysis/values/lane_pattern.h).
//
// A routine that asks for such a value has two forms: Probe::routine computes it, Probe::with_lane_values
// takes it from a register. The pass chooses the accesses whose pattern is known and for which that pays, and
// writes the code that fills the registers at the patterns' places. The splice pass takes the second form
// there. If lanes diverged in between, each holds its mask of conflicting lanes; the splice pass counts those
// still active.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::ptx {

/// The site values that this is about, named as in cod::SiteValue.
inline constexpr std::string_view sector_threshold_value = "sector_threshold";
inline constexpr std::string_view hoisted_banks_value = "hoisted_banks";
/// Computed by more lanes than make the access; hoisted_banks is computed from it there, by the routine
/// banks_of_some_lanes.
inline constexpr std::string_view bank_lanes_value = "bank_lanes";
inline constexpr std::string_view banks_of_some_lanes_value = "banks_of_some_lanes";
/// What the routine that computes one writes.
inline constexpr std::string_view lane_result_value = "lane_result";
/// Of a site with RowSectors, read by no routine: odd where the warp is no full row, and otherwise, modulo
/// 32, how far the address of lane 0 is from the lane's.
inline constexpr std::string_view lane_row_value = "lane_row";

bool is_lane_value(std::string_view site_value);

/// A site: the instruction's id in the unit and which of its accesses.
using LaneSite = std::pair<std::uint32_t, std::uint32_t>;

struct LaneValuePlan {
  /// The register that holds a value at a site.
  std::map<std::pair<LaneSite, std::string>, VirtualRegister> registers;

  /// Null: the lanes do not know the value there.
  const VirtualRegister* find(const LaneSite& site, std::string_view value) const;
  /// Whether all lane values that the routine reads are at hand.
  bool serves(const LaneSite& site, const ProbeRoutine& routine) const;
};

/// Needs unit.spliced.lane_routines; fills in unit.memory.lane_values. Without routines nothing happens.
Status write_lane_values(InstrumentationUnit& unit);

}  // namespace lynxpp::ptx
