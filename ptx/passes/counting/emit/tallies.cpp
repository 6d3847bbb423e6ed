#include "ptx/passes/counting/emit/tallies.h"

#include "ptx/passes/counting/emit/flush.h"
#include "ptx/passes/counting/emit/increments.h"

namespace lynxpp::ptx {

TallyPlace find_tally(const InstrumentationUnit& unit, const Tally& tally) {
  if (unit.counting.plan == nullptr) return {};
  const auto found = unit.counting.plan->tallies.find(tally);
  if (found == unit.counting.plan->tallies.end()) return {};
  return {&unit.counting.plan->counter(found->second), &unit.counting.plan->accumulator(found->second)};
}

CountContext count_context_of(InstrumentationUnit& unit, std::uint32_t function) {
  return count_context(unit, unit.counting.plan->positions.at(function));
}

VirtualRegister register_of(const CountContext& context, const TallyPlace& tally) {
  return context.number(tally.accumulator->index);
}

Code set_mark(const CountContext& context, const TallyPlace& mark, const CodePredicate& predicate) {
  CodeBuilder code(context.names);
  if (!mark.is_shared()) {
    // A number is set, not added to: it cannot wrap around.
    if (mark.is_bit()) {
      append_increment(code, context, *mark.accumulator, 1, predicate);
    } else {
      code.emit_if(predicate, context.plan.is_wide ? "mov.b64" : "mov.b32", {register_of(context, mark), 1});
    }
    return code.take();
  }
  const Label done = code.fresh_label();
  code.branch_if(!predicate, done);
  code.mov(register_of(context, mark), 1);
  code.append(flush_shared(context, mark, true));
  code.place(done);
  return code.take();
}

Code set_bit_by(const CountContext& context, const TallyPlace& tally, const CodeRegister& value) {
  CodeBuilder code(context.names);
  const VirtualRegister word = context.word(*tally.accumulator);
  const VirtualRegister bit = code.b32("shl.b32", {CodeOperand(value), tally.accumulator->index % 32});
  code.emit("or.b32", {word, word, bit});
  return code.take();
}

Code flush_shared(const CountContext& context, const TallyPlace& tally, bool by_lane) {
  CodeBuilder code(context.names);
  const VirtualRegister number = register_of(context, tally);
  const Label done = code.fresh_label();
  const VirtualRegister is_none =
      code.pred(context.plan.is_wide ? "setp.eq.u64" : "setp.eq.u32", {number, 0});
  code.branch_if(CodePredicate(is_none), done);
  const CodeAddress slot = at_slot(slots_of_warp(code, context), tally.counter->slot);
  if (by_lane) {
    append_flush_by_lane(code, context.plan.is_wide, number, slot, {});
  } else {
    append_flush_of_sum(code, context, number, slot);
  }
  code.mov(number, 0);
  code.place(done);
  return code.take();
}

}  // namespace lynxpp::ptx
