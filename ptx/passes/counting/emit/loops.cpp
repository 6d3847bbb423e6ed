#include "ptx/passes/counting/emit/loops.h"

namespace lynxpp::ptx {
namespace {

/// Returns the register; for 64 bits, its low word after division by the power of two in the step.
CodeOperand value_of(CodeBuilder& code, const TripCountReading& reading) {
  const Name reg{reading.reg};
  if (!reading.is_long) return reg;
  if (reading.shift == 0) return code.b32("cvt.u32.u64", {reg});
  const VirtualRegister steps = code.b64("shr.u64", {reg, reading.shift});
  return code.b32("cvt.u32.u64", {steps});
}

/// Returns the lane's count since the loop's begin.
CodeOperand lane_number(CodeBuilder& code, const CountContext& context, const LaneMaximum& maximum) {
  if (maximum.trip_count != no_index)
    return read_trip_count(code, context, context.counters.trip_counts[maximum.trip_count].reading);
  const VirtualRegister number = context.number(context.counters.accumulators[maximum.accumulator].index);
  if (maximum.start_reg == no_index) return number;
  return code.b32("sub.u32", {number, context.number(maximum.start_reg)});
}

/// Returns the counters to which a lane maximum is added.
IncrementedCounters counters_of(const CountContext& context, std::uint32_t maximum) {
  IncrementedCounters found;
  for (const Counter& counter : context.counters.counters) {
    for (const Increment& increment : context.accumulator(counter).increments) {
      if (increment.amount == Increment::Amount::lane_maximum && increment.index == maximum)
        found.push_back(&counter);
    }
  }
  return found;
}

/// Reads the mask here, because a GPU may reuse one that was read before lanes reconverged.
void append_lane_maximum(CodeBuilder& code, const CountContext& context, const LaneMaximum& maximum,
                         const IncrementedCounters& counters) {
  const CodeOperand number = lane_number(code, context, maximum);
  std::optional<VirtualRegister> most;
  std::optional<CodePredicate> leads;
  for (const Counter* counter : counters) {
    const Accumulator& accumulator = context.accumulator(*counter);
    if (counter->combine == Counter::Combine::max) {
      add_to(code, context.number(accumulator.index), number, {});
      continue;
    }
    if (!most) {
      const VirtualRegister mask = code.active_mask();
      most = code.b32("redux.sync.max.u32", {number, mask});
      leads = code.elect_leader(mask);
    }
    if (accumulator.storage == Accumulator::Storage::reg) {
      const bool is_elected = accumulator.lanes == Accumulator::Lanes::elected;
      add_to(code, context.number(accumulator.index), *most, is_elected ? leads : std::nullopt);
      continue;
    }
    const Label done = code.fresh_label();
    code.branch_if(!*leads, done);
    const VirtualRegister slots = slots_of_warp(code, context);
    const VirtualRegister wide = code.b64("cvt.u64.u32", {*most});
    code.emit("red.global.add.u64", {at_slot(slots, counter->slot), wide});
    code.place(done);
  }
}

}  // namespace

void append_loop_entry(CodeBuilder& code, const CountContext& context, const TripCountReading& reading,
                       const std::optional<CodePredicate>& guard) {
  if (reading.start_reg != no_index)
    code.emit_if(guard, "mov.b32", {context.number(reading.start_reg), value_of(code, reading)});
  if (reading.entered_reg != no_index)
    code.emit_if(guard, "mov.b32", {context.number(reading.entered_reg), -1});
}

CodeOperand read_trip_count(CodeBuilder& code, const CountContext& context, const TripCountReading& reading) {
  const CodeOperand now = value_of(code, reading);
  const CodeOperand before = reading.start_reg == no_index ? CodeOperand(reading.initial)
                                                           : CodeOperand(context.number(reading.start_reg));
  CodeOperand count = now;
  if (reading.decreases) {
    count = code.b32("sub.u32", {before, now});
  } else if (before != CodeOperand(0)) {
    count = code.b32("sub.u32", {now, before});
  }
  if (reading.inverse != 1)
    count = code.b32("mul.lo.u32", {count, static_cast<std::int32_t>(reading.inverse)});
  if (reading.entered_reg != no_index)
    count = code.b32("and.b32", {count, context.number(reading.entered_reg)});
  return count;
}

void append_lane_loop_begin(CodeBuilder& code, const CountContext& context, std::uint32_t index) {
  for (const LaneMaximum& maximum : context.counters.lane_maxima) {
    if (maximum.loop != index || maximum.accumulator == no_index) continue;
    const VirtualRegister number = context.number(context.counters.accumulators[maximum.accumulator].index);
    if (maximum.start_reg == no_index) {
      code.emit("mov.b32", {number, 0});
    } else {
      code.emit("mov.b32", {context.number(maximum.start_reg), number});
    }
  }
}

void append_lane_loop_end(CodeBuilder& code, const CountContext& context, std::uint32_t index) {
  for (std::uint32_t i = 0; i < context.counters.lane_maxima.size(); ++i) {
    const LaneMaximum& maximum = context.counters.lane_maxima[i];
    if (maximum.loop == index) append_lane_maximum(code, context, maximum, counters_of(context, i));
  }
}

}  // namespace lynxpp::ptx
