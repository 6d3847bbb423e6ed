#include "ptx/passes/counting/emit/block_storage.h"

#include <algorithm>

#include "ptx/passes/module/block_exit.h"
#include "ptx/passes/probes/routine.h"

namespace lynxpp::ptx {
namespace {

constexpr std::int64_t counter_bytes = 4;
/// The alignment that tensor copies and swizzled matrices rely on, beyond what the program declares.
constexpr std::uint32_t alignment = 1024;
constexpr std::uint32_t log2_warp_lanes = 5;

/// The words of the variable: counters of lanes; of each counter of warps, lanes of executions by 32 lanes;
/// of each, the other executions; of each, a word that nobody reads; exited threads.
class Words {
 public:
  explicit Words(const FunctionCounters& counters)
      : lanes_(counters.block_threads), warps_(counters.block_warps) {}

  std::uint32_t warps() const { return warps_; }
  std::uint32_t first_whole() const { return lanes_; }
  std::uint32_t first_other() const { return lanes_ + warps_; }
  std::uint32_t first_unread() const { return lanes_ + 2 * warps_; }
  std::uint32_t exited() const { return lanes_ + 3 * warps_; }
  std::uint32_t size() const { return exited() == 0 ? 0 : exited() + 1; }

 private:
  std::uint32_t lanes_, warps_;
};

Name variable_of(const CountContext& context) {
  return Name{variable_name(context.unit.counting.block_variable)};
}

CodeAddress at_word(const CountContext& context, std::uint32_t word) {
  return {variable_of(context), counter_bytes * word};
}

/// Emits the 32-bit address of the first word.
VirtualRegister first_word(CodeBuilder& code, const CountContext& context) {
  return code.b32("mov.u32", {variable_of(context)});
}

std::uint32_t first_slot(const FunctionCounters& counters) {
  const auto is_first = [](const Counter& each) {
    return each.storage == Counter::Storage::block && each.index == 0;
  };
  return std::ranges::find_if(counters.counters, is_first)->slot;
}

}  // namespace

std::optional<ModuleVariable> block_variable_of(const CountPlan& plan) {
  const std::uint32_t words = Words(plan.functions.front()).size();
  if (words == 0) return std::nullopt;
  const std::uint64_t bytes = (counter_bytes * words + alignment - 1) / alignment * alignment;
  return ModuleVariable{StateSpace::shared, bytes, {}, false, alignment};
}

void append_block_clear(CodeBuilder& code, const CountContext& context) {
  const Words words(context.counters);
  const Label next = code.fresh_label();
  const Label done = code.fresh_label();
  const VirtualRegister threads = threads_of_block(code);
  const VirtualRegister at = thread_in_block(code);
  const VirtualRegister word = code.b32("mad.lo.u32", {at, counter_bytes, first_word(code, context)});
  const VirtualRegister step = code.b32("mul.lo.u32", {threads, counter_bytes});
  code.place(next);
  code.branch_if(CodePredicate(code.pred("setp.ge.u32", {at, words.size()})), done);
  code.emit("st.shared.u32", {CodeAddress{word, 0}, 0});
  code.emit("add.u32", {at, at, threads});
  code.emit("add.u32", {word, word, step});
  code.branch(next);
  code.place(done);
  code.emit("bar.sync", {0});
}

void append_block_flush(CodeBuilder& code, const CountContext& context,
                        const std::optional<CodePredicate>& guard) {
  const Words words(context.counters);
  const Label next = code.fresh_label();
  const Label skip = code.fresh_label();
  const Label stays = code.fresh_label();
  const LanesTogether last = append_last_exit(code, guard, at_word(context, words.exited()), stays);
  const VirtualRegister slots = slots_of_warp(code, context);
  const VirtualRegister at = code.b32("mov.b32", {last.rank});
  code.place(next);
  code.branch_if(CodePredicate(code.pred("setp.ge.u32", {at, words.first_unread()})), stays);
  const VirtualRegister word = code.b32("mad.lo.u32", {at, counter_bytes, first_word(code, context)});
  const VirtualRegister count = code.b32("ld.shared.u32", {CodeAddress{word, 0}});
  code.branch_if(CodePredicate(code.pred("setp.eq.u32", {count, 0})), skip);
  const VirtualRegister slot = code.b32("mov.b32", {at});
  if (words.warps() != 0) {
    const VirtualRegister is_other = code.pred("setp.ge.u32", {at, words.first_other()});
    code.emit_if(CodePredicate(is_other), "sub.u32", {slot, slot, words.warps()});
    const VirtualRegister is_whole = code.pred("setp.ge.u32", {at, words.first_whole()});
    code.emit("and.pred", {is_whole, is_whole, !CodePredicate(is_other)});
    code.emit_if(CodePredicate(is_whole), "shr.u32", {count, count, log2_warp_lanes});
  }
  const VirtualRegister amount = code.b64("cvt.u64.u32", {count});
  const VirtualRegister address = code.b64("mad.wide.u32", {slot, 8, slots});
  code.emit("red.global.add.u64", {at_slot(address, first_slot(context.counters)), amount});
  code.place(skip);
  code.emit("add.u32", {at, at, last.count});
  code.branch(next);
  code.place(stays);
}

void append_block_lanes(CodeBuilder& code, const CountContext& context, const Counter& counter,
                        const std::optional<CodePredicate>& guard) {
  code.emit_if(guard, "red.shared.add.u32", {at_word(context, counter.index), 1});
}

void append_block_warp(CodeBuilder& code, const CountContext& context, const IncrementedCounters& counters,
                       VirtualRegister mask) {
  const std::int64_t other = counter_bytes * Words(context.counters).warps();
  const Label add = code.fresh_label();
  // A single lane leads. This avoids a comparison of lane numbers, which are slow to read.
  const VirtualRegister rest = code.b32("add.u32", {mask, -1});
  code.emit("and.b32", {rest, rest, mask});
  const VirtualRegister leads = code.pred("setp.eq.u32", {rest, 0});
  const VirtualRegister offset = code.b32("selp.b32", {other, 0, leads});
  const VirtualRegister is_known = code.pred("setp.eq.or.u32", {mask, -1, leads});
  code.branch_if(CodePredicate(is_known), add);
  code.elect_leader_into(leads, mask);
  code.emit("selp.b32", {offset, other, 2 * other, leads});
  code.place(add);
  code.emit("add.u32", {offset, offset, first_word(code, context)});
  for (const Counter* counter : counters)
    code.emit("red.shared.add.u32", {CodeAddress{offset, counter_bytes * counter->index}, 1});
}

void append_block_leader(CodeBuilder& code, const CountContext& context, const Counter& counter,
                         const CodePredicate& leads) {
  const std::uint32_t other = counter.index + Words(context.counters).warps();
  code.emit_if(leads, "red.shared.add.u32", {at_word(context, other), 1});
}

}  // namespace lynxpp::ptx
