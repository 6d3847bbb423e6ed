#include "ptx/replay/program.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "ptx/replay/decoder.h"

namespace lynxpp::ptx {
namespace {

using Kind = ReplayOperand::Kind;

/// 2^k - 1, or what is left of all bits without it.
bool is_low_or_high_bits(std::int64_t mask) {
  const auto bits = static_cast<std::uint64_t>(mask);
  return (bits & (bits + 1)) == 0 || (~bits & (~bits + 1)) == 0;
}

/// Whether replay would have to look at the threads one by one: it is not linear on large parts of a grid.
bool is_costly(const ReplayOperation& operation, const Uniformity& uniformity) {
  if (operation.bits == 1) return false;
  const auto varies_at = [&](const ReplayOperand& each) {
    if (each.kind == Kind::reg)
      return uniformity.of_register_read(operation.instruction, each.index) != uniform;
    return each.kind == Kind::tid || each.kind == Kind::ctaid || each.kind == Kind::lane;
  };
  const bool first = varies_at(operation.source[0]);
  const bool second = varies_at(operation.source[1]);
  switch (operation.kind) {
    case ReplayKind::multiply: return first && second;
    case ReplayKind::shift_left:
    case ReplayKind::shift_right:
    case ReplayKind::divide:
    case ReplayKind::remainder: return second;
    case ReplayKind::bit_xor: return first || second;
    case ReplayKind::bit_or: return first && second;
    case ReplayKind::bit_and: {
      const ReplayOperand& mask = operation.source[first ? 1 : 0];
      return (first && second) ||
             ((first || second) && (mask.kind != Kind::constant || !is_low_or_high_bits(mask.number)));
    }
    default: return false;
  }
}

/// Which registers hold known numbers where a block begins, and which blocks replay does not enter by every
/// path by which threads do.
class Prediction {
 public:
  Prediction(ReplayProgram& program, const ControlFlowGraph& graph, const RegisterUsage& usage,
             bool may_exit_in_calls)
      : program_(program),
        graph_(graph),
        usage_(usage),
        may_exit_in_calls_(may_exit_in_calls),
        entry_(graph.blocks.size()),
        is_skipped_(graph.blocks.size(), false) {}

  void solve() {
    enter(0, std::vector<bool>(program_.registers, false));
    while (!waiting_.empty()) {
      const std::uint32_t block = waiting_.front();
      waiting_.pop_front();
      run(block, nullptr);
    }
    program_.is_predictable.assign(program_.operations.size(), false);
    for (std::uint32_t block = 0; block < graph_.blocks.size(); ++block) {
      if (entry_[block] && !is_skipped_[block]) run(block, &program_.is_predictable);
    }
  }

 private:
  using Known = std::vector<bool>;

  void enter(std::uint32_t block, const Known& known) {
    const std::optional<Known> before = entry_[block];
    if (before) {
      for (std::size_t i = 0; i < known.size(); ++i) (*entry_[block])[i] = (*before)[i] && known[i];
    } else {
      entry_[block] = known;
    }
    if (entry_[block] != before) waiting_.push_back(block);
  }

  static bool is_known(const ReplayOperand& operand, const Known& known) {
    if (operand.kind == Kind::reg) return known[operand.index];
    return operand.kind != Kind::none;
  }

  bool is_known(const ReplayOperation& operation, const Known& known) const {
    if (operation.kind == ReplayKind::unknown || operation.kind == ReplayKind::call) return false;
    const std::size_t sources = operation.kind == ReplayKind::load_parameter ? 0 : 3;
    for (std::size_t i = 0; i < sources; ++i) {
      const bool is_used = operation.source[i].kind != Kind::none;
      if (is_used && !is_known(operation.source[i], known)) return false;
    }
    return true;
  }

  /// Follows a block; marks accesses that are known in `predictable` instead of going on behind it, when that
  /// is given.
  void run(std::uint32_t index, std::vector<bool>* predictable) {
    Known known = *entry_[index];
    const ReplayBlock& block = program_.blocks[index];
    for (std::uint32_t i = block.begin; i < block.end; ++i) {
      const ReplayOperation& operation = program_.operations[i];
      const bool is_guarded = operation.guard != no_register;
      const bool guard_known = !is_guarded || known[operation.guard];
      const bool is_access = operation.kind == ReplayKind::access;
      if (is_access && predictable != nullptr) {
        (*predictable)[i] =
            guard_known && operation.source[0].kind != Kind::none && is_known(operation.source[0], known);
      }
      const bool leaves = operation.kind == ReplayKind::branch || operation.kind == ReplayKind::exit;
      const bool may_end = operation.kind == ReplayKind::call && may_exit_in_calls_;
      const bool has_target = operation.kind != ReplayKind::branch || block.target != no_block;
      if ((leaves && (!guard_known || !has_target)) || may_end) {
        if (predictable == nullptr) skip(index, std::move(known), may_end);
        return;
      }
      if (is_access || leaves) continue;
      const bool result = guard_known && is_known(operation, known);
      for (const RegisterId each : operation.destinations)
        known[each] = result && (!is_guarded || known[each]);
    }
    if (predictable != nullptr) return;
    const bool has_end = block.begin != block.end;
    const ReplayOperation* last = has_end ? &program_.operations[block.end - 1] : nullptr;
    const bool ends = last != nullptr && (last->kind == ReplayKind::branch || last->kind == ReplayKind::exit);
    if (ends && last->kind == ReplayKind::branch) enter(block.target, known);
    if (block.fall_through != no_block && (!ends || last->guard != no_register))
      enter(block.fall_through, known);
  }

  /// Replay jumps from this block to where all paths meet.
  void skip(std::uint32_t index, Known known, bool to_the_end) {
    ReplayBlock& block = program_.blocks[index];
    block.is_skipped_over = true;
    if (to_the_end) block.post_dominator = no_block;
    std::vector<bool> seen(graph_.blocks.size(), false);
    std::vector<std::uint32_t> open(graph_.blocks[index].successors);
    std::vector<bool> written(program_.registers, false);
    while (!open.empty()) {
      const std::uint32_t each = open.back();
      open.pop_back();
      if (each == block.post_dominator || seen[each]) continue;
      seen[each] = true;
      is_skipped_[each] = true;
      const BasicBlock& range = graph_.blocks[each];
      for (std::uint32_t at = range.begin; at < range.end; ++at) {
        for (const RegisterWrite& write : usage_.writes(at)) written[write.reg] = true;
      }
      open.insert(open.end(), range.successors.begin(), range.successors.end());
    }
    block.written.clear();
    for (RegisterId each = 0; each < program_.registers; ++each) {
      if (!written[each]) continue;
      block.written.push_back(each);
      known[each] = false;
    }
    if (block.post_dominator != no_block) enter(block.post_dominator, known);
  }

  ReplayProgram& program_;
  const ControlFlowGraph& graph_;
  const RegisterUsage& usage_;
  const bool may_exit_in_calls_;
  std::vector<std::optional<Known>> entry_;  ///< per block; nothing: not entered
  std::vector<bool> is_skipped_;
  std::deque<std::uint32_t> waiting_;
};

}  // namespace

bool ReplayProgram::predicts(std::uint32_t instruction, std::uint32_t side) const {
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const ReplayOperation& each = operations[i];
    if (each.kind == ReplayKind::access && each.instruction == instruction && each.side == side)
      return is_predictable[i];
  }
  return false;
}

ReplayProgram make_replay_program(const Module& module, FunctionAnalyses& analyses, bool may_exit_in_calls) {
  ReplayProgram program;
  const ControlFlowGraph& graph = analyses.graph();
  const RegisterUsage& usage = analyses.registers();
  const std::vector<std::uint32_t>& post_dominators = analyses.post_dominators();
  program.registers = static_cast<std::uint32_t>(usage.registers().size());
  ReplayDecoder decoder(module, analyses.function(), usage, program.variables);
  for (std::uint32_t index = 0; index < graph.blocks.size(); ++index) {
    const BasicBlock& from = graph.blocks[index];
    ReplayBlock block;
    block.begin = static_cast<std::uint32_t>(program.operations.size());
    for (std::uint32_t at = from.begin; at < from.end; ++at) {
      for (ReplayOperation& each : decoder.decode(at)) program.operations.push_back(std::move(each));
    }
    block.end = static_cast<std::uint32_t>(program.operations.size());
    if (from.targets.size() == 1) block.target = from.targets[0];
    block.fall_through = from.fall_through;
    block.post_dominator = post_dominators[index];
    program.blocks.push_back(std::move(block));
  }
  for (ReplayOperation& each : program.operations) {
    if (is_costly(each, analyses.uniformity())) each.kind = ReplayKind::unknown;
  }
  Prediction(program, graph, usage, may_exit_in_calls).solve();
  return program;
}

}  // namespace lynxpp::ptx
