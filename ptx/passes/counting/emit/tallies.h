// What the routines of probes add to (Tally), for the passes that splice them.
#pragma once

#include <optional>

#include "ptx/passes/counting/emit/context.h"

namespace lynxpp::ptx {

/// Where a tally of one function lies. Null members: not asked for.
struct TallyPlace {
  const Counter* counter = nullptr;
  const Accumulator* accumulator = nullptr;

  explicit operator bool() const { return counter != nullptr; }
  bool is_bit() const { return accumulator != nullptr && accumulator->is_bit(); }
  /// It shares a register with others, which is flushed right after the routine.
  bool is_shared() const {
    return accumulator != nullptr && accumulator->storage == Accumulator::Storage::memory;
  }
};

TallyPlace find_tally(const InstrumentationUnit& unit, const Tally& tally);

/// The context of the function with this index in the unit.
CountContext count_context_of(InstrumentationUnit& unit, std::uint32_t function);

/// Its register. Precondition: it is no bit.
VirtualRegister register_of(const CountContext& context, const TallyPlace& tally);

/// Makes a mark (Tally::is_mark) more than 0 in the lanes where the predicate holds.
Code set_mark(const CountContext& context, const TallyPlace& mark, const CodePredicate& predicate);

/// Sets the bit of the tally where `value` (32 bits) is 1 instead of 0.
Code set_bit_by(const CountContext& context, const TallyPlace& tally, const CodeRegister& value);

/// Adds a shared register to memory, where some lane has more than 0, and sets it to 0. By lane: few lanes
/// have.
Code flush_shared(const CountContext& context, const TallyPlace& tally, bool by_lane);

}  // namespace lynxpp::ptx
