// A handler of a specification as the passes see it: where it runs, what it does, and its compiled routine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "ptx/ir/memory_access.h"
#include "ptx/ir/module.h"
#include "ptx/ir/probe_point.h"
#include "ptx/passes/probes/routine.h"

namespace lynxpp::ptx {

/// A routine's complete effect, if a pass can implement it more cheaply than by a copy at each site.
enum class ProbeEffect : std::uint8_t {
  any,
  /// Adds to tallies an amount determined by the active lanes, the access's size and kind, and the
  /// differences between the lanes' addresses in 4-byte words.
  measures_banks,
  /// Adds one to tallies in one lane per 32-byte sector that the active lanes access.
  measures_sectors,
  /// Counts the memory words of the access, `executions` times.
  counts_words
};

/// One handler of one specification.
struct Probe {
  ProbePoint point = ProbePoint::kernel_entry;
  bool is_initializer = false;                      ///< runs before all other kernel-entry probes
  std::function<bool(const Instruction&)> matches;  ///< selects the sites of instruction probes
  /// Returns the index in memory_accesses(instruction) of the probe's access. Null: always the first.
  std::function<std::uint32_t(const Instruction&)> access;
  /// Returns a site value, by name, that only the specification can compute.
  std::function<std::uint64_t(std::string_view, const Instruction&)> constant;
  ProbeRoutine routine;
  std::optional<ProbeRoutine> with_lane_values = {};  ///< a variant that uses precomputed lane values
  FirstOfSpecification first = {};
  std::vector<std::uint32_t> tallies = {};  ///< tallies that the routine adds to
  ProbeEffect effect = ProbeEffect::any;
  bool enabled = true;      ///< false: the probe has no sites
  std::uint64_t sites = 0;  ///< set by the splice pass

  std::uint32_t side_at(const Instruction& instruction) const { return access ? access(instruction) : 0; }
  /// Returns the probe's access, or nullopt if the instruction makes none.
  std::optional<MemoryAccess> access_at(const Instruction& instruction) const {
    const MemoryAccesses accesses = memory_accesses(instruction);
    const std::uint32_t side = side_at(instruction);
    return side < accesses.count ? std::optional(accesses.access[side]) : std::nullopt;
  }
};

}  // namespace lynxpp::ptx
