// What the host wants to know of a launch: executions of places of a kernel, and tallies.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace lynxpp::ptx {

/// A register that the routine of a probe adds to at one instruction. Where no register is left for it
/// (Storage::memory), tallies of the same number share one that is flushed right after the routine.
struct Tally {
  std::uint32_t probe = 0;        ///< in SplicedCode::probes
  std::uint32_t number = 0;       ///< one of Probe::tallies
  bool is_high = false;           ///< counts how often the other one has wrapped around
  std::uint32_t instruction = 0;  ///< id in the unit
  /// Only whether it is 0 is asked. One for a function, set at any place of it (memory/index_checks.h).
  bool is_mark = false;
  /// Counts executions by warps that are not like RowSectors.
  bool is_exception = false;

  auto operator<=>(const Tally&) const = default;
};

/// Executions of one place; ids as in InstrumentationUnit.
struct Quantity {
  enum class Kind : std::uint8_t {
    thread_block,  ///< executions of the block `place` by threads
    warp_block,    ///< … by warps
    thread_guard,  ///< threads for which the guard of the instruction `place` held
    warp_guard,    ///< executions by warps in which it held for some lane
    divergence,    ///< executions of the guarded branch `place` by warps whose lanes it divides
    // For the access of the instruction `place` that selects its lanes (memory/taking_lanes.h):
    thread_taking,   ///< threads that take part
    warp_taking,     ///< executions by warps with at least one lane that takes part
    thread_surplus,  ///< bytes of lanes that take part minus MemoryAccess::bytes, modulo 2^64
    warp_surplus,    ///< … of the first such lane of each warp
    tally,           ///< the sum that Quantity::tally adds up
  };
  Kind kind = Kind::thread_block;
  std::uint32_t place = 0;
  Tally tally;

  auto operator<=>(const Quantity&) const = default;
};

/// `factor` times a quantity is part of a sum. Sums are all that the host makes of quantities.
struct CountUse {
  Quantity quantity;
  std::uint32_t sum = 0;
  std::uint64_t factor = 1;
};

/// The quantities of guards are asked for only where instructions have one. `sums` is how many sums there
/// are.
struct CountRequest {
  std::vector<CountUse> uses;
  std::uint32_t sums = 0;
};

}  // namespace lynxpp::ptx
