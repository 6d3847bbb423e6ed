// Phases of one mbarrier object as a checked launch sees them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/cpu/simt/check/access_shadow.h"
#include "device/cpu/simt/check/async_operations.h"
#include "device/cpu/simt/check/happens_before.h"

namespace lynxpp::device::cpu {

/// Accesses known to the threads that arrived at a barrier, and what they publish after it.
struct BarrierKnowledge {
  Knowledge known;
  Knowledge released_to_block;
  Knowledge released_to_device;

  void join(const BarrierKnowledge& other) {
    known.join(other.known);
    released_to_block.join(other.released_to_block);
    released_to_device.join(other.released_to_device);
  }
};

/// The effect of one lane's operation on an mbarrier object.
struct ObjectChange {
  enum class Kind : std::uint8_t { init, inval, arrive, expect, complete } kind = Kind::arrive;
  std::uint32_t lane = 0;
  std::int64_t count = 0;  ///< init: expected arrivals; arrive: arrivals
  std::int64_t bytes = 0;  ///< arrive, expect: additional expected bytes; complete: completed ones
  bool releases = true;    ///< false: .relaxed
  bool ends_phase = false;
};

/// One lane's query of an object.
struct ObjectTest {
  std::uint32_t lane = 0;
  std::uint64_t parity = 0;  ///< of the awaited phase
  bool passed = false;
  bool acquires = true;  ///< false: .relaxed
};

/// An arrival or byte count in a phase, summed over the lanes of an instruction.
struct ObjectEntry {
  const AccessSite* site = nullptr;
  std::uint32_t block = 0;
  std::uint32_t warp = 0;
  std::int64_t amount = 0;
};

struct ObjectPhases {
  AccessMark initialized;       ///< by mbarrier.init; time 0: not seen
  std::uint32_t clock = 0;      ///< whose time is `completed`
  std::uint32_t completed = 0;  ///< phases
  BarrierKnowledge arriving;    ///< in the present phase
  BarrierKnowledge over;        ///< in completed phases
  // Of the present phase:
  std::vector<ObjectEntry> arrivals;
  std::vector<ObjectEntry> expected;        ///< bytes
  std::vector<ObjectEntry> delivered;       ///< bytes
  std::vector<ObjectEntry> arrived_before;  ///< arrivals of the previous phase
  std::vector<LateOperation> late;
  /// The last successful wait of a warp, to explain why it did not help.
  struct Passed {
    const AccessSite* site = nullptr;
    std::uint64_t parity = 0;
    std::uint32_t completed = 0;  ///< phases at that time
  };
  std::vector<Passed> passed;  ///< by warp

  static void add(std::vector<ObjectEntry>& to, const ObjectEntry& entry);
  static std::int64_t sum(const std::vector<ObjectEntry>& entries);
  bool is_in_phase() const { return !arrivals.empty() || sum(expected) != sum(delivered) || !late.empty(); }
  void end_phase();
  /// Describes the arrivals and bytes of the present phase.
  std::string describe(std::uint32_t own_block) const;
};

/// Returns "tile.cu:12", or "PTX line 7" without line information.
std::string line_of(const AccessSite& site);

}  // namespace lynxpp::device::cpu
