// What the routines of probes add to (Tally), for the passes that splice them.
#pragma once

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

/// Its register. Precondition: it is no bit.
VirtualRegister register_of(const CountContext& context, const TallyPlace& tally);

/// Makes a mark (Tally::is_mark) more than 0 in the lanes where the predicate holds.
void set_mark(CodeBuilder& code, const CountContext& context, const TallyPlace& mark,
              const CodePredicate& predicate);

/// Sets the bit of the tally where `value` (32 bits) is 1 instead of 0.
void set_bit_by(CodeBuilder& code, const CountContext& context, const TallyPlace& tally,
                VirtualRegister value);

/// Adds a shared register to memory, where some lane has more than 0, and sets it to 0. By lane: few lanes
/// have.
void flush_shared(CodeBuilder& code, const CountContext& context, const TallyPlace& tally, bool by_lane);

}  // namespace lynxpp::ptx
