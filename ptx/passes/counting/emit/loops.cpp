#include "ptx/passes/counting/emit/loops.h"

namespace lynxpp::ptx {
namespace {

/// Returns the lane's count since the loop's begin.
CodeOperand lane_number(CodeBuilder& code, const CountContext& context, const LaneMaximum& maximum) {
  const VirtualRegister number = context.number(maximum.lanes.index);
  if (maximum.start_reg == no_index) return number;
  return code.b32("sub.u32", {number, context.number(maximum.start_reg)});
}

}  // namespace

void append_lane_loop_begin(CodeBuilder& code, const CountContext& context, const LaneMaximum& maximum) {
  const VirtualRegister number = context.number(maximum.lanes.index);
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
