// What a variant counts, as the device sees it: accumulators, which threads increment at places, and
// counters, which say what becomes of an accumulator when it is flushed.
//
// The choices are independent of each other: where increments stand × whether every lane or an elected one
// makes them × whether memory, a register or a bit keeps them × how the lanes of a warp combine.
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

/// A place in a function; `block` and `instruction` are indices in it.
struct Place {
  enum class Kind : std::uint8_t {
    entry,        ///< at the function's entry
    block_start,  ///< before the block's first instruction
    block_end,    ///< before what ends the block, or after its last instruction
    before,       ///< before `instruction`
    behind,       ///< after `instruction`, which ends the block: where it falls through
  };
  Kind kind = Kind::block_start;
  std::uint32_t block = 0;
  std::uint32_t instruction = 0;

  auto operator<=>(const Place&) const = default;
};

/// Which executions of a place count.
struct Condition {
  enum class Kind : std::uint8_t {
    always,
    guard,          ///< those of lanes for which the guard of Place::instruction holds
    switch_target,  ///< … for which the brx.idx at the block's end leads to the block `target`
    none_takes,     ///< all, when the branch leads none of a warp's launched lanes to the block `target`
    diverges,       ///< those of warps in which the guard holds for some lanes and not for others
    takes,          ///< counts lanes that take part in the access of Place::instruction
  };
  Kind kind = Kind::always;
  std::uint32_t target = 0;

  auto operator<=>(const Condition&) const = default;
};

struct Increment {
  enum class Amount : std::uint8_t {
    one,
    trip_count,    ///< what FunctionCounters::trip_counts[index] reads
    lane_maximum,  ///< what the lane of the warp that iterates most has counted: lane_maxima[index]
    surplus,       ///< the lane's bytes minus MemoryAccess::bytes; 64 bits, and always kept in memory
  };
  Place place;
  Condition condition;
  Amount amount = Amount::one;
  std::uint32_t index = 0;

  auto operator<=>(const Increment&) const = default;
};

/// A number of each lane, 0 when the function is entered.
struct Accumulator {
  enum class Lanes : std::uint8_t {
    every,    ///< each lane increments its own
    elected,  ///< the first of the lanes that are at the place together
  };
  enum class Storage : std::uint8_t {
    memory,  ///< none: what a lane would increment is added to the counter's slot on the spot
    reg,     ///< register `index` of the function
    bit,     ///< bit `index` of the function: incremented once at most
    /// Bit `index`, which is 1 from the start and 0 when it has been incremented: what most lanes do. Its
    /// counter counts what has not happened.
    cleared_bit,
    bit_pair,  ///< pair of bits `index`: where a guard holds, and where it does not
  };
  std::vector<Increment> increments;
  Lanes lanes = Lanes::every;
  Storage storage = Storage::memory;
  std::uint32_t index = 0;
  /// All launched lanes of a warp make each increment together: they have equal numbers.
  bool is_warp_uniform = false;

  bool is_bit() const { return storage == Storage::bit || storage == Storage::cleared_bit; }
  /// Of a bit or a pair of bits, in its register of 32.
  std::uint32_t bit_mask() const { return 1u << index % 32; }
};

/// A slot in memory, and what a warp adds to it for an accumulator.
struct Counter {
  enum class Combine : std::uint8_t {
    sum,     ///< of all lanes
    lane_0,  ///< the number of lane 0
    max,     ///< the largest of all lanes
    any,     ///< 1 when the bit is set in some lane (both bits of a pair, each in some lane)
    all,     ///< 1 when the bit is set in all lanes
  };
  std::uint32_t accumulator = 0;
  Combine combine = Combine::sum;
  /// Counted by thread blocks alone whose index in the grid is 0 in these dimensions (a set of bits: 1 is x,
  /// 2 is y, 4 is z); 0: by all.
  std::uint8_t first_in = 0;
  VariableId variable = no_variable;  ///< of the system, that the slot's number is
  std::uint32_t slot = 0;
};

/// How often a thread has run a block of a loop since it entered the loop, told by a register of the program
/// that changes by the same step each time (refine/trip_counts.h).
struct TripCountReading {
  std::string reg;
  bool is_long = false;  ///< of 64 bits
  bool decreases = false;
  std::uint32_t shift = 0;    ///< the step is an odd multiple of 2^shift
  std::uint32_t inverse = 1;  ///< of that odd number, modulo 2^32
  bool runs_once = false;     ///< once at least, so that a difference of 0 stands for as many as there can be
  std::uint32_t initial = 0;  ///< its low word before the loop; of 64 bits: divided by 2^shift first
  /// Where `initial` is not known: the register that takes it where the loop is entered.
  std::uint32_t start_reg = no_index;
  /// Where threads come to the reading that have not entered the loop: 0 for them, all ones for others.
  std::uint32_t entered_reg = no_index;
};

/// How often a thread runs `block` of a loop each time it enters the loop.
struct TripCount {
  std::uint32_t loop = 0;                 ///< in LoopNest::loops()
  std::uint32_t block = 0;                ///< in the loop, run once in each full iteration
  std::optional<std::uint64_t> constant;  ///< else `reading` tells, at `place`
  Place place;
  TripCountReading reading;
  bool keeps_start = false;  ///< TripCountReading::start_reg is needed; it takes the register at `entries`
  /// Where the loop is entered. Empty for a reading that asks for none.
  std::vector<Increment> entries;
  /// TripCountReading::entered_reg is needed, and 0 from the start of this block on; no_block: it is not.
  std::uint32_t above = no_block;
  /// Lanes that enter the loop together run `block` together and exit together.
  bool is_together = false;
  bool is_used = false;
};

/// A divergent loop in which lanes count for the warp: what the lanes that pass `begin` together have counted
/// when they are together again, at the start of block `end`.
struct LaneLoop {
  Place begin;
  std::uint32_t end = 0;
};

/// The maximum of what the lanes of a loop have counted: by an accumulator, or by the loop's trip count.
struct LaneMaximum {
  std::uint32_t loop = 0;                ///< in FunctionCounters::lane_loops
  std::uint32_t accumulator = no_index;  ///< in FunctionCounters::accumulators
  /// The register with the accumulator as it was at LaneLoop::begin; no_index: it is set to 0 there.
  std::uint32_t start_reg = no_index;
  std::uint32_t trip_count = no_index;  ///< instead of `accumulator`: in FunctionCounters::trip_counts
};

/// The registers of one function's accumulators, and what else is kept for them.
struct CounterRegisters {
  std::vector<VirtualRegister> numbers;     ///< by Accumulator::index of Storage::reg
  std::vector<VirtualRegister> words;       ///< of bits, 32 each
  std::vector<VirtualRegister> holds;       ///< of pairs of bits: where the guard holds
  std::vector<VirtualRegister> fails;       ///< … and where it does not
  std::optional<VirtualRegister> launched;  ///< the lanes that were, where asked
};

}  // namespace lynxpp::ptx
