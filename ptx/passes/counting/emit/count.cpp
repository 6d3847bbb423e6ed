#include "ptx/passes/counting/emit/count.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "ptx/passes/counting/emit/context.h"
#include "ptx/passes/counting/emit/flush.h"
#include "ptx/passes/counting/emit/increments.h"
#include "ptx/passes/memory/taking_lanes.h"
#include "ptx/passes/module/entry.h"

namespace lynxpp::ptx {
namespace {

using Amount = Increment::Amount;

/// Writes the counters of one function.
class FunctionCounting {
 public:
  explicit FunctionCounting(const CountContext& context)
      : context_(context),
        counters_(context.counters),
        blocks_(context.function.graph().blocks),
        function_(*context.function.function),
        instructions_(function_.body->instructions),
        names_(context.unit.edits.names(function_)) {}

  void run() {
    append_entry();
    for (const Counter& counter : counters_.counters) add_increments(counter);
    for (const LaneMaximum& maximum : counters_.lane_maxima) add_increments(maximum.lanes);
    for (const auto& [increment, counters] : increments_) append_increment_at(increment, counters);
    for (const Counter& counter : counters_.counters) {
      if (counter.amounts_to(Amount::lane_maximum))
        append_lane_maximum(counter, counters_.lane_maxima[counter.increments[0].index]);
    }
    append_flushes();
    std::map<std::uint32_t, Code> together;
    for (auto& [position, code] : codes_) together[position.first].append(code.take());
    for (auto& [position, code] : together) context_.unit.edits.insert_before(position, std::move(code));
  }

 private:
  /// The order of code at one position. Votes of the converged warp precede code that may diverge.
  enum class Rank : std::uint8_t {
    declaration,
    together,
    after,
    loop_begin_after,
    entry,
    start,
    loop_end,
    loop_begin,
    before,
    flush
  };
  using Position = std::pair<std::uint32_t, Rank>;

  /// Appends to the code already inserted at `position`.
  CodeBuilder& at(const Position& position) { return codes_.try_emplace(position, names_).first->second; }

  Position position_of(const ProgramPoint& point) const {
    const BasicBlock& block = blocks_[point.block];
    const Instruction* last = block.size() == 0 ? nullptr : &instructions_[block.end - 1];
    const std::uint32_t body_end = function_.body_text.end - 1;
    switch (point.kind) {
      case ProgramPoint::Kind::entry: return {entry_position(function_), Rank::entry};
      case ProgramPoint::Kind::block_start:
        return {last == nullptr ? body_end : instructions_[block.begin].text.begin, Rank::start};
      case ProgramPoint::Kind::before: return {instructions_[point.instruction].text.begin, Rank::before};
      case ProgramPoint::Kind::after: return {last->text.end, Rank::after};
      case ProgramPoint::Kind::block_end: break;
    }
    if (last == nullptr) return {body_end, Rank::before};
    return last->traits.ends_block() ? Position(last->text.begin, Rank::before)
                                     : Position(last->text.end, Rank::after);
  }

  /// Returns the registers that are set at a loop's begin, before any read.
  std::set<std::uint32_t> numbers_set_later() const {
    std::set<std::uint32_t> found;
    for (const LaneMaximum& maximum : counters_.lane_maxima)
      found.insert(maximum.start_reg == no_index ? maximum.lanes.index : maximum.start_reg);
    return found;
  }

  /// Initializes registers at the function's entry.
  void append_entry() {
    CodeBuilder& code = at({entry_position(function_), Rank::declaration});
    const CounterRegisters& registers = context_.registers;
    const std::set<std::uint32_t> set_later = numbers_set_later();
    for (std::uint32_t i = 0; i < registers.numbers.size(); ++i) {
      if (!set_later.contains(i)) code.mov(registers.numbers[i], 0);
    }
    for (const VirtualRegister word : registers.bits) code.mov(word, 0);
  }

  void add_increments(const Counter& counter) {
    for (const Increment& increment : counter.increments) {
      if (increment.amount != Amount::lane_maximum) increments_[increment].push_back(&counter);
    }
  }

  void append_increment_at(const Increment& increment, const IncrementedCounters& counters) {
    const ProgramPoint& point = increment.point;
    const Position position = position_of(point);
    CodeBuilder& code = at(position);
    switch (increment.condition.kind) {
      case Condition::Kind::always: return append_increments(code, context_, counters, elections_[position]);
      case Condition::Kind::guard: return append_guarded(code, point, counters);
      case Condition::Kind::diverges:
        return append_divergences(code, context_, counters,
                                  *predicate_of(instructions_[point.instruction].guard));
      case Condition::Kind::switch_target:
        return append_guarded_increments(code, context_, counters,
                                         goes_to(code, point, increment.condition.target));
      case Condition::Kind::none_takes: return append_none_takes(code, increment, counters);
      case Condition::Kind::takes: return append_taking(code, increment, counters);
    }
  }

  /// Counts the lanes that take part in the access.
  void append_taking(CodeBuilder& code, const Increment& increment, const IncrementedCounters& counters) {
    const Instruction& instruction = instructions_[increment.point.instruction];
    const std::optional<MemoryAccess> access = selecting_access(instruction);
    if (!access) return;
    const TakingLanes lanes(context_.unit.module, context_.unit.variant.shared_variables,
                            *context_.function.function);
    CodePredicate takes = lanes.predicate(instruction, *access, code);
    if (const std::optional<CodePredicate> guard = predicate_of(instruction.guard)) {
      const VirtualRegister holds =
          code.pred(guard->is_negated ? "not.pred" : "mov.pred", {CodeOperand(guard->reg)});
      const VirtualRegister own =
          code.pred(takes.is_negated ? "not.pred" : "mov.pred", {CodeOperand(takes.reg)});
      takes = code.pred("and.pred", {holds, own});
    }
    if (increment.amount != Amount::surplus)
      return append_guarded_increments(code, context_, counters, takes);
    if (!lanes.has_own_bytes(instruction, *access)) return;
    const CodeOperand bytes = lanes.bytes(instruction, *access, code);
    append_surplus(code, context_, counters, takes, bytes, access->bytes);
  }

  /// Counts lanes for which a branch's guard holds, and with them the warps that take the branch as a whole.
  void append_guarded(CodeBuilder& code, const ProgramPoint& point, const IncrementedCounters& counters) {
    const CodePredicate guard = *predicate_of(instructions_[point.instruction].guard);
    const std::uint32_t next = blocks_[point.block].fall_through;
    const auto converged = increments_.find({point, {Condition::Kind::none_takes, next}});
    if (next == no_block || converged == increments_.end() || !are_in_memory(converged->second))
      return append_guarded_increments(code, context_, counters, guard);
    append_guarded_increments(code, context_, counters, guard, {converged->second, lanes_here(point)});
  }

  void append_none_takes(CodeBuilder& code, const Increment& increment, const IncrementedCounters& counters) {
    const ProgramPoint& point = increment.point;
    const CodePredicate takes_target = takes(point, increment.condition.target);
    if (!are_in_memory(counters)) {
      CodeBuilder& before = before_branch(point);
      const VirtualRegister some = before.pred("vote.sync.any.pred", {takes_target, lanes_here(point)});
      return append_guarded_increments(before, context_, counters, !CodePredicate(some));
    }
    const bool is_counted_with_guard = increment.condition.target == blocks_[point.block].fall_through &&
                                       increments_.contains({point, {Condition::Kind::guard, 0}});
    if (is_counted_with_guard) return;
    append_guarded_increments(code, context_, {}, !takes_target, {counters, lanes_here(point)});
  }

  bool are_in_memory(const IncrementedCounters& counters) const {
    return std::ranges::all_of(
        counters, [&](const Counter* counter) { return counter->storage == Counter::Storage::memory; });
  }

  /// Before the branch and before any code there at which the warp may diverge.
  CodeBuilder& before_branch(const ProgramPoint& point) {
    return at({position_of(point).first, Rank::together});
  }

  /// Returns the mask of active lanes.
  CodeOperand lanes_here(const ProgramPoint& point) {
    if (context_.unit.options.launch.has_full_warps) return -1;
    return before_branch(point).active_mask();
  }

  /// Holds for the lanes that branch to the target.
  CodePredicate takes(const ProgramPoint& point, std::uint32_t target) const {
    const CodePredicate guard = *predicate_of(instructions_[point.instruction].guard);
    return target == blocks_[point.block].fall_through ? !guard : guard;
  }

  /// Holds for the lanes that the brx.idx sends to the target. All targets are counted before the lanes
  /// diverge: code on one of two parallel edges to the same block would keep the lanes apart.
  CodePredicate goes_to(CodeBuilder& code, const ProgramPoint& point, std::uint32_t target) const {
    const BasicBlock& block = blocks_[point.block];
    const Instruction& branch = instructions_[point.instruction];
    const Name index{std::string(context_.unit.module.text(branch.operands[0].text))};
    std::optional<VirtualRegister> goes;
    for (std::uint32_t i = 0; i < block.targets.size(); ++i) {
      if (block.targets[i] != target) continue;
      goes = goes ? code.pred("setp.eq.or.u32", {index, i, *goes}) : code.pred("setp.eq.u32", {index, i});
    }
    const std::optional<CodePredicate> guard = predicate_of(branch.guard);
    if (!guard) return *goes;
    const bool falls = target == block.fall_through;
    const CodePredicate other = falls ? !*guard : *guard;
    const VirtualRegister holds =
        code.pred(other.is_negated ? "not.pred" : "mov.pred", {CodeOperand(other.reg)});
    return code.pred(falls ? "or.pred" : "and.pred", {*goes, holds});
  }

  /// If `begin` follows a branch, the increments of lanes that enter the loop have run, so the loop's begin
  /// follows them; if it is before the branch, the loop's begin precedes them.
  void append_lane_maximum(const Counter& counter, const LaneMaximum& maximum) {
    const Rank begin =
        maximum.begin.kind == ProgramPoint::Kind::after ? Rank::loop_begin_after : Rank::loop_begin;
    append_lane_loop_begin(at({position_of(maximum.begin).first, begin}), context_, maximum);
    const Position end = position_of(counter.increments[0].point);
    append_lane_loop_end(at({end.first, Rank::loop_end}), context_, maximum, counter);
  }

  /// Flushes before each instruction that exits the function, and at the end of a body without one.
  void append_flushes() {
    const auto flush_at = [&](std::uint32_t position, const Guard& guard) {
      append_flush(at({position, Rank::flush}), context_, predicate_of(guard));
    };
    for (const Instruction& instruction : instructions_) {
      if (instruction.traits.kind == OpcodeClass::exit) flush_at(instruction.text.begin, instruction.guard);
    }
    const BasicBlock& last = blocks_.back();
    if (!context_.function.analyses->dominators().is_reachable(
            static_cast<std::uint32_t>(blocks_.size() - 1)))
      return;
    if (last.size() == 0) return flush_at(function_.body_text.end - 1, {});
    const Instruction& instruction = instructions_[last.end - 1];
    const bool ends_there =
        instruction.traits.kind == OpcodeClass::exit || instruction.traits.kind == OpcodeClass::branch;
    if (!ends_there || instruction.guarded()) flush_at(instruction.text.end, {});
  }

  const CountContext context_;
  const FunctionCounters& counters_;
  const std::vector<BasicBlock>& blocks_;
  const Function& function_;
  const std::vector<Instruction>& instructions_;
  NameSource& names_;
  std::map<Increment, IncrementedCounters> increments_;
  std::map<Position, Election> elections_;
  std::map<Position, CodeBuilder> codes_;
};

}  // namespace

Status write_counters(InstrumentationUnit& unit) {
  if (unit.counting.plan == nullptr || unit.counting.plan->slots_in_use == 0) return success();
  constexpr Version activemask{6, 2};
  unit.variant.version = std::max(unit.variant.version, activemask);
  unit.counting.registers = declare_counter_registers(unit);
  for (const FunctionCounters& function : unit.counting.plan->functions)
    FunctionCounting(count_context(unit, function.unit)).run();
  return success();
}

}  // namespace lynxpp::ptx
