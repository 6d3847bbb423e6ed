// Statements for which the engine fills an array: counted without device code, or added up in registers.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "support/diagnostic.h"

namespace lynxpp::cod {

/// One index of a counted element.
struct CounterIndex {
  enum class Kind : std::uint8_t { constant, basic_block, instruction };
  Kind kind = Kind::constant;
  std::uint64_t constant = 0;
};

/// A statement that only adds to an array at every execution of its handler's sites. It has no device code:
/// the engine counts executions of each site and fills the array before ON_REPORT runs.
struct SiteCounter {
  enum class Addend : std::uint8_t {
    constant,
    instructions,  ///< basicBlockInstructionCount()
    guarded,       ///< basicBlockPredicatedInstructionCount()
    executed,      ///< basicBlockExecutedInstructionCount()
    access_size,   ///< accessSize()
    bank_groups,   ///< bankGroups()
  };
  std::uint32_t handler = 0;          ///< in Specification::handlers(): determines the sites
  std::uint32_t array = 0;            ///< in Specification::arrays()
  std::vector<CounterIndex> indices;  ///< one per dimension, in range
  bool counts_warps = false;          ///< once per warp instead of once per thread
  bool counts_divergences = false;    ///< only executions of a `bra` at which the warp diverges
  Addend addend = Addend::constant;
  std::uint64_t constant = 1;
  SourceLocation location;  ///< of the statement
};

/// A statement that adds an unsigned value, computed on the device, to an element that the site determines.
/// The routine adds to the registers named by the site values `tally_<index>` and, if an addend may exceed 1,
/// `tally_high_<index>`, which counts wrap-arounds of the first. The engine fills the array before ON_REPORT
/// runs. With DeviceTarget::wide_counters only the first exists and has 64 bits.
struct Tally {
  std::uint32_t handler = 0;          ///< in Specification::handlers(): determines the instructions
  std::uint32_t array = 0;            ///< in Specification::arrays()
  std::vector<CounterIndex> indices;  ///< one per dimension, in range
  bool adds_one = false;              ///< always adds 1
  /// Adds bankConflicts() or bankGroupsSpared(): each addition is at most 31 and follows more than 31
  /// instructions. The register cannot wrap in fewer than 2^32 cycles, so it needs no second one.
  bool is_paced = false;
  bool is_wide_only = false;  ///< adds 0 at accesses of up to 4 bytes
};
inline constexpr std::string_view tally_value = "tally_";
inline constexpr std::string_view high_tally_value = "tally_high_";

}  // namespace lynxpp::cod
