// A variant's counters, as seen by the device: where and which lanes increment them, in which storage, and
// how the flush combines the lanes' values.
#pragma once

#include <compare>
#include <cstdint>
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
    lane_maximum,  ///< the maximum over the warp's lanes: lane_maxima[index]
    surplus,       ///< the lane's bytes minus MemoryAccess::bytes; 64 bits, always kept in memory
  };
  ProgramPoint point;
  Condition condition;
  Amount amount = Amount::one;
  std::uint32_t index = 0;

  auto operator<=>(const Increment&) const = default;
};

/// Which lanes make a counter's increments, and how the flush combines their values.
enum class CounterKind : std::uint8_t {
  threads,    ///< each lane counts for itself: the sum over the lanes
  elected,    ///< the first lane of those that execute together counts for the warp: the sum over the lanes
  converged,  ///< all launched lanes of a warp execute together and get equal values: the value of lane 0
};

/// A memory slot, and the per-lane values, 0 at function entry, that the flush combines and adds to it.
struct Counter {
  enum class Storage : std::uint8_t {
    reg,     ///< register `index` of the function; counters with the same increments share it
    bit,     ///< bit `index` of the function: at most one increment
    memory,  ///< no values: increments go directly to the slot
  };
  CounterKind kind = CounterKind::threads;
  std::vector<Increment> increments;
  VariableId variable = no_variable;  ///< the variable that the slot measures
  Storage storage = Storage::memory;
  std::uint32_t index = 0;
  std::uint32_t slot = 0;

  bool is_bit() const { return storage == Storage::bit; }
  bool amounts_to(Increment::Amount amount) const {
    return !increments.empty() && increments[0].amount == amount;
  }
  /// The mask of a bit in its 32-bit register.
  std::uint32_t bit_mask() const { return 1u << index % 32; }
};

/// The count of the lane that iterates most in a divergent loop. The lanes that pass `begin` together find
/// the maximum of their counts at the start of block `end`, where they have reconverged.
struct LaneMaximum {
  ProgramPoint begin;
  std::uint32_t end = 0;
  Counter lanes;  ///< a register in which each lane counts; without a slot
  /// The register that keeps the value of `lanes` at `begin`; no_index: it is zeroed there.
  std::uint32_t start_reg = no_index;
};

/// The registers of one function's counters.
struct CounterRegisters {
  std::vector<VirtualRegister> numbers;  ///< by Counter::index of Storage::reg
  std::vector<VirtualRegister> bits;     ///< 32 each
};

}  // namespace lynxpp::ptx
