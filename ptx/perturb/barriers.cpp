// Barriers of the thread block. `again` waits twice, with the same operands. `harmless` adds nothing.
//
//   bar.sync 0;   ▶   bar.sync 0;
//                     bar.sync 0;
//
// A GPU issues instructions that follow a barrier, such as a reading of the clock, before the other threads
// arrive. So the timed form adds two barriers; the second needs the result of the first.
// Every thread that takes part in a barrier must wait equally often, so a barrier is repeated if no branch
// makes the block's threads reach different ones, or if all barriers of the kernel are.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ptx/analysis/flow/walk.h"
#include "ptx/perturb/operation_code.h"

namespace lynxpp::ptx {
namespace {

bool is_block_barrier(const Instruction& instruction) {
  return (instruction.op() == Op::bar || instruction.op() == Op::barrier) &&
         !instruction.has_any({Modifier::warp, Modifier::cluster});
}

class Barriers : public OperationCode {
 public:
  Barriers(bool is_everywhere, std::optional<VirtualRegister> timed_by)
      : is_everywhere_(is_everywhere), timed_by_(timed_by) {}

  bool selects(const FunctionUnit& /*function*/, const Instruction& instruction) const override {
    return is_block_barrier(instruction) || instruction.op() == Op::mbarrier ||
           (instruction.op() == Op::barrier && instruction.has(Modifier::cluster));
  }

  Outcome add(Additions& to) override {
    const Instruction& site = to.site();
    if (site.op() == Op::mbarrier) return left_out("a barrier object expects a fixed number of arrivals");
    if (site.has(Modifier::cluster))
      return left_out("a barrier of the cluster: arrival and wait are separate");
    if (site.has(Modifier::arrive)) return left_out("an arrival without a wait");
    if (!divergent_) find_divergent(to);
    const bool is_reached_together = !(*divergent_)[to.analyses().graph().block_of[to.site_index()]];
    if (!is_reached_together && !(is_everywhere_ && repeats_all(to)))
      return left_out("threads of the block may wait at different barriers");
    if (to.is_again()) emit(to);
    return {true, site.has(Modifier::red) ? "without the reduction" : ""};
  }

 private:
  void emit(Additions& to) const {
    const Instruction& site = to.site();
    const bool is_aligned = site.op() == Op::bar || site.has(Modifier::aligned);
    const bool is_reduction = site.has(Modifier::red);
    // bar.red d, a, b, c: the barrier, optionally the number of threads, the predicate
    std::vector<CodeOperand> operands;
    const std::size_t begin = is_reduction ? 1 : 0;
    const std::size_t end = site.operands.size() - (is_reduction ? 1 : 0);
    for (std::size_t i = begin; i < end; ++i) operands.emplace_back(to.text(site.operands[i]));
    if (timed_by_) {
      const VirtualRegister first = emit_reduction(to, is_aligned, operands, *timed_by_);
      emit_reduction(to, is_aligned, operands, first);
      return;
    }
    std::string opcode(site.opcode);
    if (is_reduction) opcode = is_aligned ? "barrier.sync.aligned" : "barrier.sync";
    to.code().emit_if(to.guard(), opcode, std::move(operands));
  }

  /// Returns a predicate that is true if `value` is in any thread.
  static VirtualRegister emit_reduction(Additions& to, bool is_aligned,
                                        const std::vector<CodeOperand>& operands, VirtualRegister value) {
    const VirtualRegister any = to.code().fresh(RegisterType::pred);
    std::vector<CodeOperand> all{any};
    all.insert(all.end(), operands.begin(), operands.end());
    all.emplace_back(value);
    to.code().emit_if(to.guard(), is_aligned ? "barrier.red.or.aligned.pred" : "barrier.red.or.pred",
                      std::move(all));
    return any;
  }

  /// True if no thread takes part in a barrier of the kernel without also waiting there.
  static bool repeats_all(Additions& to) {
    const bool only_waits = std::ranges::none_of(to.body().instructions, [](const Instruction& each) {
      return is_block_barrier(each) && each.has(Modifier::arrive);
    });
    const bool calls = std::ranges::any_of(to.body().instructions, [](const Instruction& each) {
      return each.traits.kind == OpcodeClass::call;
    });
    return only_waits && !calls;
  }

  /// Marks the blocks between a branch that threads of a block may take differently and its post-dominator,
  /// unless only one side may wait again: threads that exit are not waited for.
  void find_divergent(Additions& to) {
    const ControlFlowGraph& graph = to.analyses().graph();
    const std::vector<bool> may_wait = find_waiting(to);
    std::vector<bool>& divergent = divergent_.emplace(graph.blocks.size(), false);
    for (std::uint32_t block = 0; block < graph.blocks.size(); ++block) {
      const std::vector<std::uint32_t>& successors = graph.blocks[block].successors;
      const bool is_uniform = (to.analyses().uniformity().of_branch(block) & varies_in_block) == 0;
      const auto waiting =
          std::ranges::count_if(successors, [&](std::uint32_t each) { return may_wait[each]; });
      if (is_uniform || waiting < 2) continue;
      walk_blocks(graph, successors, to.analyses().post_dominators()[block], [&](std::uint32_t each) {
        divergent[each] = true;
        return true;
      });
    }
  }

  /// True for the blocks from whose beginning a thread may come to a barrier, or to a call.
  static std::vector<bool> find_waiting(const Additions& to) {
    const ControlFlowGraph& graph = to.kernel().graph();
    std::vector<bool> waiting(graph.blocks.size());
    std::vector<std::uint32_t> pending;
    for (std::uint32_t block = 0; block < graph.blocks.size(); ++block) {
      for (std::uint32_t i = graph.blocks[block].begin; i < graph.blocks[block].end; ++i) {
        if (is_block_barrier(to.at(i)) || to.at(i).traits.kind == OpcodeClass::call) waiting[block] = true;
      }
      if (waiting[block]) pending.push_back(block);
    }
    while (!pending.empty()) {
      const std::uint32_t block = pending.back();
      pending.pop_back();
      for (const std::uint32_t before : graph.blocks[block].predecessors) {
        if (waiting[before]) continue;
        waiting[before] = true;
        pending.push_back(before);
      }
    }
    return waiting;
  }

  bool is_everywhere_;
  std::optional<VirtualRegister> timed_by_;
  std::optional<std::vector<bool>> divergent_;  ///< per block
};

}  // namespace

std::unique_ptr<OperationCode> barrier_code(bool is_everywhere, std::optional<VirtualRegister> timed_by) {
  return std::make_unique<Barriers>(is_everywhere, timed_by);
}

}  // namespace lynxpp::ptx
