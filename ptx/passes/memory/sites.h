// The accesses of a kernel whose banks or sectors are measured, and what is known of them before any code is
// added.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "ptx/analysis/values/lane_pattern.h"
#include "support/result.h"

namespace lynxpp::ptx {

struct InstrumentationUnit;
struct LaneValuePlan;  // ptx/passes/memory/lane_values.h

/// An access that a warp makes at most once: how many sectors 32 lanes of one row of the thread block touch
/// if the address of lane 0 lies at `place` of its sector. What is tallied is left to warps that are not like
/// that, and how many these are (ptx/passes/memory/sector_sites.h).
struct RowSectors {
  std::uint32_t sectors = 0;
  std::int64_t step = 0;     ///< from lane to lane, in bytes; even
  std::uint32_t place = 0;   ///< below 32, even
  bool is_anywhere = false;  ///< the same number at all places
};

/// One access that a probe measures.
struct MemorySite {
  /// The instruction (id in the unit) where the tallies of this site grow: mostly its own. nullopt: nowhere;
  /// tallies of banks are 0, those of sectors the executions by warps.
  std::optional<std::uint32_t> measured_at;
  bool is_even = false;                ///< the addresses of all lanes lie at one place of their sectors
  std::optional<LanePattern> pattern;  ///< of the addresses of all lanes
  std::optional<RowSectors> rows;
};

struct MemorySites {
  /// By probe and instruction (id in the unit). Of others nothing is known: they are measured where they are.
  std::map<std::pair<std::uint32_t, std::uint32_t>, MemorySite> sites;
  /// What patterns assume, by function; see index_checks.h.
  std::map<std::uint32_t, std::set<IndexCheck>> index_checks;
  /// What lanes compute about their addresses once. Null: nothing.
  std::shared_ptr<const LaneValuePlan> lane_values;

  const MemorySite* find(std::uint32_t probe, std::uint32_t instruction) const {
    const auto found = sites.find({probe, instruction});
    return found == sites.end() ? nullptr : &found->second;
  }
  MemorySite& at(std::uint32_t probe, std::uint32_t instruction) {
    return sites.try_emplace({probe, instruction}, MemorySite{instruction, false, {}, {}}).first->second;
  }
  std::optional<std::uint32_t> measured_at(std::uint32_t probe, std::uint32_t instruction) const {
    const MemorySite* const site = find(probe, instruction);
    return site == nullptr ? std::optional(instruction) : site->measured_at;
  }
};

/// Plans where banks and sectors are measured (bank_sites.h, sector_sites.h): fills in
/// InstrumentationUnit::memory for all probes that do so.
Status find_memory_sites(InstrumentationUnit& unit);

/// A line for each site of which something is known, by probe and instruction.
std::string memory_sites_text(const InstrumentationUnit& unit);

}  // namespace lynxpp::ptx
