// Counts that the host requests of a launch: executions of a kernel's program points, and tallies.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace lynxpp::ptx {

/// A register to which a probe's routine adds at one instruction. Tallies for which no register is left
/// (Storage::memory) share one register per number, which is flushed directly after the routine.
struct Tally {
  std::uint32_t probe = 0;        ///< in SplicedCode::probes
  std::uint32_t number = 0;       ///< an element of Probe::tallies
  bool is_high = false;           ///< counts the overflows of the low tally
  std::uint32_t instruction = 0;  ///< id in the unit
  /// Only zero or non-zero matters. A function has one mark, which any of its program points may set
  /// (memory/index_checks.h).
  bool is_mark = false;
  /// Counts executions by warps that do not match RowSectors.
  bool is_exception = false;

  auto operator<=>(const Tally&) const = default;
};

/// The count of one program point. Ids as in InstrumentationUnit.
struct Quantity {
  enum class Kind : std::uint8_t {
    thread_block,  ///< executions of block `id` by threads
    warp_block,    ///< executions of block `id` by warps
    thread_guard,  ///< threads for which the guard of instruction `id` holds
    warp_guard,    ///< executions by warps with at least one such lane
    divergence,    ///< executions of the guarded branch `id` by warps that diverge at it
    // For the lane-selecting access of instruction `id` (memory/taking_lanes.h):
    thread_taking,   ///< participating threads
    warp_taking,     ///< executions by warps with at least one participating lane
    thread_surplus,  ///< bytes of participating lanes minus MemoryAccess::bytes, modulo 2^64
    warp_surplus,    ///< thread_surplus of each warp's first participating lane
    tally,           ///< the total of Quantity::tally
  };
  Kind kind = Kind::thread_block;
  std::uint32_t id = 0;
  Tally tally;

  auto operator<=>(const Quantity&) const = default;
};

/// Adds `factor` times a quantity to a sum. The host uses quantities only in such sums.
struct CountUse {
  Quantity quantity;
  std::uint32_t sum = 0;
  std::uint64_t factor = 1;
};

/// All requested quantities. Guard quantities are requested only for guarded instructions. `sums` is the
/// number of sums.
struct CountRequest {
  std::vector<CountUse> uses;
  std::uint32_t sums = 0;
};

}  // namespace lynxpp::ptx
