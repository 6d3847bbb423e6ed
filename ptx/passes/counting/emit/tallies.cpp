#include "ptx/passes/counting/emit/tallies.h"

#include "ptx/passes/counting/emit/flush.h"
#include "support/check.h"

namespace lynxpp::ptx {

TallyStorage find_tally(const InstrumentationUnit& unit, const Tally& tally) {
  if (unit.counting.plan == nullptr) return {};
  const auto found = unit.counting.plan->tallies.find(tally);
  if (found == unit.counting.plan->tallies.end()) return {};
  return {&unit.counting.plan->counter(found->second)};
}

VirtualRegister register_of(const CountContext& context, const TallyStorage& tally) {
  LYNXPP_CHECK(!tally.is_bit(), "a tally of one bit has no register of its own");
  return context.number(tally.counter->index);
}

void set_mark(CodeBuilder& code, const CountContext& context, const TallyStorage& mark,
              const CodePredicate& predicate) {
  if (mark.is_bit()) {
    const CodeInstruction setter = bit_setter(context, mark);
    return code.emit_if(predicate, setter.opcode, setter.operands);
  }
  // The register is set rather than incremented, so it cannot overflow.
  if (!mark.is_shared()) return code.mov_if(predicate, register_of(context, mark), 1);
  const Label done = code.fresh_label();
  code.branch_if(!predicate, done);
  const VirtualRegister slots = slots_of_warp(code, context);
  const VirtualRegister one = code.b64("mov.b64", {1});
  code.emit("red.global.add.u64", {at_slot(slots, mark.counter->slot), one});
  code.place(done);
}

CodeInstruction bit_setter(const CountContext& context, const TallyStorage& tally) {
  const VirtualRegister word = context.bits_of(*tally.counter);
  return {{}, "or.b32", {word, word, static_cast<std::int32_t>(tally.counter->bit_mask())}};
}

void set_bit_by(CodeBuilder& code, const CountContext& context, const TallyStorage& tally,
                VirtualRegister value) {
  const VirtualRegister word = context.bits_of(*tally.counter);
  const VirtualRegister bit = code.b32("shl.b32", {value, tally.counter->index % 32});
  code.emit("or.b32", {word, word, bit});
}

void flush_shared(CodeBuilder& code, const CountContext& context, const TallyStorage& tally,
                  Amounts amounts) {
  const VirtualRegister number = register_of(context, tally);
  const auto slot = [&] { return at_slot(slots_of_warp(code, context), tally.counter->slot); };
  if (amounts == Amounts::small && context.plan.sums_lanes) {
    const VirtualRegister mask = code.active_mask();
    const VirtualRegister sum = code.b64("cvt.u64.u32", {code.b32("redux.sync.add.u32", {number, mask})});
    const CodePredicate leads = code.elect_leader(mask);
    code.emit_if(leads, "red.global.add.u64", {slot(), sum});
    return code.mov(number, 0);
  }
  const Label done = code.fresh_label();
  const VirtualRegister is_none =
      code.pred(context.plan.is_wide ? "setp.eq.u64" : "setp.eq.u32", {number, 0});
  code.branch_if(CodePredicate(is_none), done);
  if (amounts == Amounts::in_few_lanes) {
    append_flush_by_lane(code, number, slot(), {});
  } else {
    append_flush_of_sum(code, context, number, slot());
  }
  code.mov(number, 0);
  code.place(done);
}

void add_lanes_to_shared(CodeBuilder& code, const CountContext& context, const TallyStorage& tally,
                         VirtualRegister predicate) {
  const VirtualRegister mask = code.active_mask();
  const VirtualRegister lanes = code.b32("vote.sync.ballot.b32", {predicate, mask});
  const VirtualRegister sum = code.b64("cvt.u64.u32", {code.b32("popc.b32", {lanes})});
  const CodePredicate leads = code.elect_leader(mask);
  const CodeAddress slot = at_slot(slots_of_warp(code, context), tally.counter->slot);
  code.emit_if(leads, "red.global.add.u64", {slot, sum});
}

}  // namespace lynxpp::ptx
