// A variant's counters, as seen by the device: accumulators, which threads increment at program points, and
// counters, which define how an accumulator is combined when it is flushed.
//
// These choices are independent: the program point of an increment × every lane or an elected lane × memory,
// register or bit × the combination of a warp's lanes.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ptx/analysis/flow/control_flow_graph.h"
#include "ptx/ir/code.h"
#include "ptx/passes/counting/linear_system.h"

namespace lynxpp::ptx {

inline constexpr std::uint32_t no_index = 0xffffffff;

/// A program point of a function. `block` and `instruction` are indices in the function.
struct ProgramPoint {
  enum class Kind : std::uint8_t {
    entry,        ///< at the function's entry
    block_start,  ///< before the block's first instruction
    block_end,    ///< before the block's terminator, or after its last instruction
    before,       ///< before `instruction`
    after,        ///< on the fall-through path after `instruction`, the block's terminator
  };
  Kind kind = Kind::block_start;
  std::uint32_t block = 0;
  std::uint32_t instruction = 0;

  auto operator<=>(const ProgramPoint&) const = default;
};

/// Which executions of a program point count.
struct Condition {
  enum class Kind : std::uint8_t {
    always,
    guard,          ///< by lanes for which the guard of ProgramPoint::instruction holds
    switch_target,  ///< by lanes that the block's brx.idx sends to block `target`
    none_takes,     ///< by warps none of whose launched lanes branches to block `target`
    diverges,       ///< by warps in which the guard holds for some lanes but not all
    takes,          ///< by lanes that take part in the access of ProgramPoint::instruction
  };
  Kind kind = Kind::always;
  std::uint32_t target = 0;

  auto operator<=>(const Condition&) const = default;
};

struct Increment {
  enum class Amount : std::uint8_t {
    one,
    trip_count,    ///< the value that FunctionCounters::trip_counts[index] reads
    lane_maximum,  ///< the maximum over the warp's lanes: lane_maxima[index]
    surplus,       ///< the lane's bytes minus MemoryAccess::bytes; 64 bits, always kept in memory
  };
  ProgramPoint point;
  Condition condition;
  Amount amount = Amount::one;
  std::uint32_t index = 0;

  auto operator<=>(const Increment&) const = default;
};

/// A per-lane value that is 0 at function entry.
struct Accumulator {
  enum class Lanes : std::uint8_t {
    every,    ///< each lane increments its own
    elected,  ///< the first lane of those that execute together increments
  };
  enum class Storage : std::uint8_t {
    memory,    ///< no accumulator: increments go directly to the counter's slot
    reg,       ///< register `index` of the function
    bit,       ///< bit `index` of the function: at most one increment
    bit_pair,  ///< pair of bits `index`: the guard holds; the guard does not hold
  };
  std::vector<Increment> increments;
  Lanes lanes = Lanes::every;
  Storage storage = Storage::memory;
  std::uint32_t index = 0;
  /// True if all launched lanes of a warp make each increment together, so that their values are equal.
  bool is_warp_uniform = false;

  bool is_bit() const { return storage == Storage::bit; }
  /// The mask of a bit or bit pair in its 32-bit register.
  std::uint32_t bit_mask() const { return 1u << index % 32; }
};

/// A memory slot, and what a warp adds to it for an accumulator.
struct Counter {
  enum class Combine : std::uint8_t {
    sum,     ///< of all lanes
    lane_0,  ///< the value of lane 0
    max,     ///< the maximum over all lanes
    any,     ///< 1 if the bit is set in some lane (both bits of a pair, each in some lane)
  };
  std::uint32_t accumulator = 0;
  Combine combine = Combine::sum;
  VariableId variable = no_variable;  ///< the variable that the slot measures
  std::uint32_t slot = 0;
};

/// The number of times that a thread has executed a block of a loop since it entered the loop, derived from
/// an induction variable of the program (refine/trip_counts.h).
struct TripCountReading {
  std::string reg;
  bool is_long = false;  ///< 64 bits
  bool decreases = false;
  std::uint32_t shift = 0;    ///< the step is an odd multiple of 2^shift; 0 for 32 bits
  std::uint32_t inverse = 1;  ///< of the odd factor, modulo 2^32
  std::uint32_t initial = 0;  ///< initial low word; for 64 bits, after division by 2^shift
  /// The register that receives the initial value at the loop entry, if `initial` is unknown.
  std::uint32_t start_reg = no_index;
  /// If threads can reach the reading without entering the loop: 0 for these threads, all ones for the
  /// others.
  std::uint32_t entered_reg = no_index;
};

/// The number of times that a thread executes `block` of a loop each time it enters the loop.
struct TripCount {
  std::uint32_t loop = 0;                 ///< in LoopNest::loops()
  std::uint32_t block = 0;                ///< in the loop; executed once per full iteration
  std::optional<std::uint64_t> constant;  ///< nullopt: `reading` yields the count at `point`
  ProgramPoint point;
  TripCountReading reading;
  bool keeps_start = false;  ///< TripCountReading::start_reg is needed and set at `entries`
  /// The loop's entries; empty if the reading needs none.
  std::vector<Increment> entries;
  /// The block at whose start TripCountReading::entered_reg is set to 0; no_block: the register is not
  /// needed.
  std::uint32_t above = no_block;
  /// True if lanes that enter the loop together execute `block` together and exit together.
  bool is_together = false;
  bool is_used = false;
};

/// A divergent loop in which lanes count for the warp: the lanes that pass `begin` together combine their
/// counts at the start of block `end`, where they have reconverged.
struct LaneLoop {
  ProgramPoint begin;
  std::uint32_t end = 0;
};

/// The maximum over the lanes of a loop, of an accumulator or of the loop's trip count.
struct LaneMaximum {
  std::uint32_t loop = 0;                ///< in FunctionCounters::lane_loops
  std::uint32_t accumulator = no_index;  ///< in FunctionCounters::accumulators
  /// The register that keeps the accumulator's value at LaneLoop::begin; no_index: the accumulator is zeroed
  /// there.
  std::uint32_t start_reg = no_index;
  std::uint32_t trip_count = no_index;  ///< in FunctionCounters::trip_counts, instead of `accumulator`
};

/// The registers of one function's accumulators, and auxiliary registers.
struct CounterRegisters {
  std::vector<VirtualRegister> numbers;     ///< by Accumulator::index of Storage::reg
  std::vector<VirtualRegister> bits;        ///< of single bits, 32 each
  std::vector<VirtualRegister> holds;       ///< of bit pairs: the guard holds
  std::vector<VirtualRegister> fails;       ///< of bit pairs: the guard does not hold
  std::optional<VirtualRegister> launched;  ///< the launched lanes, if needed
};

}  // namespace lynxpp::ptx
