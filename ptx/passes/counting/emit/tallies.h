// The registers to which probe routines add (Tally), for the passes that splice them.
#pragma once

#include "ptx/passes/counting/emit/context.h"

namespace lynxpp::ptx {

/// The storage of a tally in one function. Null: not requested.
struct TallyStorage {
  const Counter* counter = nullptr;

  explicit operator bool() const { return counter != nullptr; }
  bool is_bit() const { return counter != nullptr && counter->storage == Counter::Storage::bit; }
  /// True if it shares a register, which is flushed directly after the routine.
  bool is_shared() const { return counter != nullptr && counter->storage == Counter::Storage::memory; }
};

TallyStorage find_tally(const InstrumentationUnit& unit, const Tally& tally);

/// Returns the tally's register. Requires that it is not a bit.
VirtualRegister register_of(const CountContext& context, const TallyStorage& tally);

/// Sets a mark (Tally::is_mark) to a non-zero value in the lanes where the predicate holds.
void set_mark(CodeBuilder& code, const CountContext& context, const TallyStorage& mark,
              const CodePredicate& predicate);

/// Returns the instruction that sets the tally's bit.
CodeInstruction bit_setter(const CountContext& context, const TallyStorage& tally);

/// Sets the tally's bit if `value` (32 bits) is 1; `value` is 0 or 1.
void set_bit_by(CodeBuilder& code, const CountContext& context, const TallyStorage& tally,
                VirtualRegister value);

/// The values that a shared register may have in the lanes that flush it.
enum class Amounts : std::uint8_t {
  any,
  in_few_lanes,  ///< usually zero in most lanes: each lane adds its own
  small,         ///< below 2^16, and rarely zero in all lanes
};

/// Adds the lanes' shared registers to memory and zeroes them.
void flush_shared(CodeBuilder& code, const CountContext& context, const TallyStorage& tally, Amounts amounts);

/// Adds the number of lanes in which the predicate holds to a shared tally, without its register.
void add_lanes_to_shared(CodeBuilder& code, const CountContext& context, const TallyStorage& tally,
                         VirtualRegister predicate);

}  // namespace lynxpp::ptx
