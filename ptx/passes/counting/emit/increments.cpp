#include "ptx/passes/counting/emit/increments.h"

#include <map>
#include <set>

namespace lynxpp::ptx {
namespace {

using Storage = Counter::Storage;

/// Registers and bits to increment, without duplicates.
struct Kept {
  std::set<std::uint32_t> numbers;               ///< by index
  std::map<std::uint32_t, std::uint32_t> words;  ///< by index: the bits to set
};

/// The increments of one program point, by kind.
struct Group {
  Kept every, elected;  ///< lanes
  IncrementedCounters memory;

  bool elects() const { return !elected.numbers.empty() || !elected.words.empty() || !memory.empty(); }
};

Group group_of(const IncrementedCounters& counters) {
  Group group;
  for (const Counter* counter : counters) {
    Kept& kept = counter->kind == CounterKind::elected ? group.elected : group.every;
    switch (counter->storage) {
      case Storage::reg: kept.numbers.insert(counter->index); break;
      case Storage::bit: kept.words[counter->index / word_bits] |= counter->bit_mask(); break;
      case Storage::memory: group.memory.push_back(counter); break;
    }
  }
  return group;
}

/// Returns the predicate of the lanes that make the counter's increments: `leads`, or none.
std::optional<CodePredicate> leader_of(const Counter& counter, const CodePredicate& leads) {
  return counter.kind == CounterKind::elected ? std::optional(leads) : std::nullopt;
}

void append_kept(CodeBuilder& code, const CountContext& context, const Kept& kept, const CodeOperand& amount,
                 const std::optional<CodePredicate>& guard) {
  for (const std::uint32_t index : kept.numbers) add_to(code, context.number(index), amount, guard);
  for (const auto& [index, bits] : kept.words) {
    const VirtualRegister word = context.registers.bits[index];
    code.emit_if(guard, "or.b32", {word, word, static_cast<std::int32_t>(bits)});
  }
}

/// The warp's leader adds the number of lanes, or one per warp; for `converged` it adds one if every lane of
/// `here` takes the branch.
void append_to_memory(CodeBuilder& code, const CountContext& context, const IncrementedCounters& counters,
                      VirtualRegister mask, const ConvergedWarps& converged = {}) {
  if (counters.empty() && converged.counters.empty()) return;
  const VirtualRegister slots = slots_of_warp(code, context);
  std::optional<VirtualRegister> lanes, one;
  const auto get_one = [&] {
    if (!one) one = code.b64("mov.b64", {1});
    return *one;
  };
  for (const Counter* counter : counters) {
    const bool counts_lanes = counter->kind == CounterKind::threads;
    if (counts_lanes && !lanes) {
      const VirtualRegister count = code.b32("popc.b32", {mask});
      lanes = code.b64("cvt.u64.u32", {count});
    }
    code.emit("red.global.add.u64", {at_slot(slots, counter->slot), counts_lanes ? *lanes : get_one()});
  }
  if (converged.counters.empty()) return;
  const CodePredicate all = code.pred("setp.eq.b32", {mask, converged.here});
  for (const Counter* counter : converged.counters)
    code.emit_if(all, "red.global.add.u64", {at_slot(slots, counter->slot), get_one()});
}

/// Returns the lanes for which the guard holds, in these lanes. In a loop, a register that only a guarded
/// instruction writes is live in all iterations, so it is cleared if registers are few.
VirtualRegister lanes_with(CodeBuilder& code, const CountContext& context, const CodePredicate& guard) {
  const VirtualRegister mask = code.fresh(RegisterType::b32);
  if (context.unit.options.has_few_registers) code.mov(mask, 0);
  code.emit_if(guard, "activemask.b32", {mask});
  return mask;
}

/// Lets the lane for which `leads` holds count for all lanes of `mask`.
void append_elected(CodeBuilder& code, const CountContext& context, const Group& group,
                    const CodePredicate& leads, VirtualRegister mask) {
  append_kept(code, context, group.elected, 1, leads);
  if (group.memory.empty()) return;
  const Label done = code.fresh_label();
  code.branch_if(!leads, done);
  append_to_memory(code, context, group.memory, mask);
  code.place(done);
}

/// Returns the lane's count since the loop's begin.
CodeOperand lane_number(CodeBuilder& code, const CountContext& context, const LaneMaximum& maximum) {
  const VirtualRegister number = context.number(maximum.lanes.index);
  if (maximum.start_reg == no_index) return number;
  return code.b32("sub.u32", {number, context.number(maximum.start_reg)});
}

}  // namespace

VirtualRegister Election::mask(CodeBuilder& code) {
  if (!mask_) mask_ = code.active_mask();
  return *mask_;
}

VirtualRegister Election::leader(CodeBuilder& code) {
  if (!leader_) leader_ = code.elect_leader(mask(code));
  return *leader_;
}

void append_increments(CodeBuilder& code, const CountContext& context, const IncrementedCounters& counters,
                       Election& election) {
  const Group group = group_of(counters);
  append_kept(code, context, group.every, 1, {});
  if (!group.elects()) return;
  const VirtualRegister leads = election.leader(code);
  append_elected(code, context, group, leads, election.mask(code));
}

void append_guarded_increments(CodeBuilder& code, const CountContext& context,
                               const IncrementedCounters& counters, const CodePredicate& guard,
                               const ConvergedWarps& converged) {
  const Group group = group_of(counters);
  append_kept(code, context, group.every, 1, guard);
  if (!group.elects() && converged.counters.empty()) return;
  if (group.memory.empty() && converged.counters.empty()) {
    // Under the guard, activemask yields the lanes for which it holds; a vote would also wait for the others.
    const VirtualRegister mask = lanes_with(code, context, guard);
    append_kept(code, context, group.elected, 1, code.elect_leader(mask, guard));
    return;
  }
  // Only lanes that add to memory branch there, so that the others execute nothing but the branch.
  const Label done = code.fresh_label();
  code.branch_if(!guard, done);
  const VirtualRegister mask = code.active_mask();
  const CodePredicate leads = code.elect_leader(mask);
  append_kept(code, context, group.elected, 1, leads);
  code.branch_if(!leads, done);
  append_to_memory(code, context, group.memory, mask, converged);
  code.place(done);
}

void append_divergences(CodeBuilder& code, const CountContext& context, const IncrementedCounters& counters,
                        const CodePredicate& guard) {
  const Group group = group_of(counters);
  if (!group.elects()) return;
  // The first lane for which the guard holds counts, if the guard fails for other lanes.
  const VirtualRegister here = code.active_mask();
  const VirtualRegister holds = lanes_with(code, context, guard);
  const VirtualRegister leads = code.elect_leader(holds, guard);
  code.emit("setp.ne.and.b32", {leads, holds, here, leads});
  append_elected(code, context, group, leads, holds);
}

void append_surplus(CodeBuilder& code, const CountContext& context, const IncrementedCounters& counters,
                    const CodePredicate& takes, const CodeOperand& bytes, std::uint32_t expected) {
  const Label done = code.fresh_label();
  code.branch_if(!takes, done);
  const VirtualRegister wide = code.b64("cvt.u64.u32", {bytes});
  const VirtualRegister surplus = code.b64("sub.s64", {wide, expected});
  const VirtualRegister is_none = code.pred("setp.eq.s64", {surplus, 0});
  // The warp's first lane may have no surplus.
  const VirtualRegister leads = code.elect_leader(code.active_mask());
  code.branch_if(CodePredicate(is_none), done);
  const VirtualRegister slots = slots_of_warp(code, context);
  for (const Counter* counter : counters)
    code.emit_if(leader_of(*counter, leads), "red.global.add.u64", {at_slot(slots, counter->slot), surplus});
  code.place(done);
}

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
