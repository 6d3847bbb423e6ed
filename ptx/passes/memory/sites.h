// The accesses of a kernel whose banks or sectors are measured, and what is known about them before any code
// is added.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "ptx/analysis/values/lane_pattern.h"

namespace lynxpp::ptx {

struct LaneValuePlan;  // ptx/passes/memory/lane_value_plan.h

/// An access that a warp makes at most once: the number of sectors that 32 lanes of one row of the thread
/// block touch if the address of lane 0 is at `offset` in its sector. Only warps that differ from this, and
/// their number, are tallied (ptx/passes/memory/sector_sites.h).
struct RowSectors {
  std::uint32_t sectors = 0;
  std::int64_t step = 0;     ///< between lanes, in bytes; even
  std::uint32_t offset = 0;  ///< below 32, even
  bool is_anywhere = false;  ///< the number is the same at all offsets
};

/// One access that a probe measures.
struct MemorySite {
  /// The instruction (id in the unit) where this site's tallies are incremented, usually its own. nullopt:
  /// none; bank tallies are 0, and sector tallies equal the executions by warps.
  std::optional<std::uint32_t> measured_at;
  bool is_even = false;                ///< all lanes' addresses have the same offset in their sectors
  std::optional<LanePattern> pattern;  ///< of the addresses of all lanes
  std::optional<RowSectors> rows;
  /// For the sectors of an access that not all lanes make: bytes between the addresses of lanes i and i + 1,
  /// not negative.
  std::optional<std::int64_t> lane_step;
};

struct MemorySites {
  /// By probe and instruction (id in the unit). Accesses without an entry are measured at their own
  /// instruction.
  std::map<std::pair<std::uint32_t, std::uint32_t>, MemorySite> sites;
  /// The assumptions of patterns, by function; see index_checks.h.
  std::map<std::uint32_t, std::set<IndexCheck>> index_checks;
  /// The values that lanes compute once from their addresses. Null: none.
  std::shared_ptr<const LaneValuePlan> lane_values;

  const MemorySite* find(std::uint32_t probe, std::uint32_t instruction) const {
    const auto found = sites.find({probe, instruction});
    return found == sites.end() ? nullptr : &found->second;
  }
  MemorySite& at(std::uint32_t probe, std::uint32_t instruction) {
    return sites.try_emplace({probe, instruction}, MemorySite{instruction, false, {}, {}, {}}).first->second;
  }
  std::optional<std::uint32_t> measured_at(std::uint32_t probe, std::uint32_t instruction) const {
    const MemorySite* const site = find(probe, instruction);
    return site == nullptr ? std::optional(instruction) : site->measured_at;
  }
};

}  // namespace lynxpp::ptx
