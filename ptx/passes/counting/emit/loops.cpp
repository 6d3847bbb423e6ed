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
  if (!maximum.lanes)
    return read_trip_count(code, context, context.counters.trip_counts[maximum.trip_count].reading);
  const VirtualRegister number = context.number(maximum.lanes->index);
  if (maximum.start_reg == no_index) return number;
  return code.b32("sub.u32", {number, context.number(maximum.start_reg)});
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

void append_lane_loop_begin(CodeBuilder& code, const CountContext& context, const LaneMaximum& maximum) {
  if (!maximum.lanes) return;
  const VirtualRegister number = context.number(maximum.lanes->index);
  if (maximum.start_reg == no_index) {
    code.emit("mov.b32", {number, 0});
  } else {
    code.emit("mov.b32", {context.number(maximum.start_reg), number});
  }
}

/// Reads the mask here, because a GPU may reuse one that was read before lanes reconverged.
void append_lane_loop_end(CodeBuilder& code, const CountContext& context, const LaneMaximum& maximum,
                          const Counter& counter) {
  const CodeOperand number = lane_number(code, context, maximum);
  if (counter.kind == CounterKind::maximum) return add_to(code, context.number(counter.index), number, {});
  const VirtualRegister mask = code.active_mask();
  const VirtualRegister most = code.b32("redux.sync.max.u32", {number, mask});
  if (counter.kind == CounterKind::converged) return add_to(code, context.number(counter.index), most, {});
  const CodePredicate leads = code.elect_leader(mask);
  if (counter.storage == Counter::Storage::reg)
    return add_to(code, context.number(counter.index), most, leads);
  const Label done = code.fresh_label();
  code.branch_if(!leads, done);
  const VirtualRegister slots = slots_of_warp(code, context);
  const VirtualRegister wide = code.b64("cvt.u64.u32", {most});
  code.emit("red.global.add.u64", {at_slot(slots, counter.slot), wide});
  code.place(done);
}

}  // namespace lynxpp::ptx
