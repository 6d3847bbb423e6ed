#include "ptx/passes/counting/refine/grid_uniform.h"

#include <algorithm>
#include <ranges>
#include <vector>

#include "ptx/analysis/flow/walk.h"
#include "ptx/passes/counting/draft.h"

namespace lynxpp::ptx {
namespace {

constexpr std::size_t most_visited = 10'000'000;  // visited blocks

/// Returns the blocks in which lanes may wait for others.
std::vector<bool> find_waits(const CountedFunction& kernel, const ReachedFunctions& reached) {
  const auto waits = [](const Instruction& instruction, bool repeats) {
    return instruction.traits.kind == OpcodeClass::barrier ||
           (instruction.traits.kind != OpcodeClass::call && repeats && may_spin(instruction));
  };
  const auto callees = reached.functions | std::views::drop(1);
  const bool callees_wait = std::ranges::any_of(callees, [&](const FunctionUnit& function) {
    return std::ranges::any_of(function.function->body->instructions,
                               [&](const Instruction& instruction) { return waits(instruction, true); });
  });
  const std::vector<BasicBlock>& blocks = kernel.graph().blocks;
  std::vector<bool> found(blocks.size());
  for (std::uint32_t block = 0; block < blocks.size(); ++block) {
    const bool repeats = kernel.analyses->loops().depth_of(block) != 0;
    for (std::uint32_t at = blocks[block].begin; at < blocks[block].end; ++at) {
      const Instruction& instruction = kernel.instructions()[at];
      const bool is_call = instruction.traits.kind == OpcodeClass::call;
      if ((is_call && callees_wait) || waits(instruction, repeats)) found[block] = true;
    }
  }
  return found;
}

/// Returns the blocks that a partial warp may reach because some lanes continued while others waited.
std::vector<bool> find_partial_warps(const CountedFunction& kernel, const ReachedFunctions& reached) {
  const ControlFlowGraph& graph = kernel.graph();
  const std::vector<bool> waits = find_waits(kernel, reached);
  std::vector<bool> partial(graph.blocks.size());
  if (std::ranges::find(waits, true) == waits.end()) return partial;
  std::size_t visits = 0;
  const auto goes_on = [&](std::uint32_t block) { return !waits[block] && ++visits <= most_visited; };
  for (std::uint32_t block = 0; block < graph.blocks.size(); ++block) {
    const std::vector<std::uint32_t>& successors = graph.blocks[block].successors;
    const std::uint32_t end = kernel.analyses->post_dominators()[block];
    // Lanes that do not reconverge do not wait for each other.
    if (successors.size() < 2 || end == no_block ||
        (kernel.analyses->uniformity().of_branch(block) & varies_in_warp) == 0)
      continue;
    if (!walk_blocks(graph, successors, end, goes_on))
      walk_blocks(graph, {end}, no_block, partial, [](std::uint32_t) { return true; });
  }
  if (visits > most_visited) partial.assign(partial.size(), true);
  return partial;
}

/// Program points that the threads with a given index reach equally often in each block of the grid.
class UniformPoints {
 public:
  explicit UniformPoints(const FunctionDraft& kernel)
      : draft_(kernel),
        kernel_(kernel.function),
        graph_(kernel_.graph()),
        uniformity_(kernel_.analyses->uniformity()),
        registers_(kernel_.analyses->registers()),
        uniform_(graph_.blocks.size(), true) {
    std::vector<std::uint32_t> pending;
    for (std::uint32_t block = 0; block < uniform_.size(); ++block) {
      if (varies_after(block)) pending.push_back(block);
    }
    // If a block's execution count varies, so do the counts of blocks that depend on its branch.
    while (!pending.empty()) {
      const std::uint32_t block = pending.back();
      pending.pop_back();
      mark_dependent(block, pending);
    }
  }

  bool contain(const Increment& increment) const {
    const std::uint32_t block = increment.point.block;
    if (increment.amount == Increment::Amount::trip_count) {
      return uniform_[block] && uniform_[draft_.facts.trip_counts[increment.index].block];
    }
    if (increment.amount == Increment::Amount::lane_maximum) {
      if (!contain(draft_.facts.divergent_loops[increment.index])) return false;
    }
    if (increment.point.kind == ProgramPoint::Kind::entry) return true;
    const bool is_before_branch = increment.point.kind == ProgramPoint::Kind::after ||
                                  increment.condition.kind != Condition::Kind::always;
    return uniform_[block] && (!is_before_branch || !varies_after(block)) && has_uniform_guard(increment);
  }

 private:
  bool contain(const DivergentLoop& loop) const {
    return uniform_[loop.end] && uniform_[kernel_.analyses->loops().loops()[loop.loop].header] &&
           contain(Increment{loop.begin, {}});
  }

  /// True if threads with the same index may continue differently in different blocks of the grid.
  bool varies_after(std::uint32_t block) const {
    return (uniformity_.of_branch(block) & varies_over_blocks) != 0 || kernel_.call_may_exit[block];
  }

  bool has_uniform_guard(const Increment& increment) const {
    if (increment.condition.kind == Condition::Kind::always ||
        increment.condition.kind == Condition::Kind::switch_target)
      return true;
    if (increment.condition.kind == Condition::Kind::takes) return false;
    const std::uint32_t instruction = increment.point.instruction;
    const Guard& guard = kernel_.instructions()[instruction].guard;
    if (guard.predicate.empty()) return true;
    const RegisterId reg = registers_.find(guard.predicate, instruction);
    return reg != no_register && (uniformity_.of_register_read(instruction, reg) & varies_over_blocks) == 0;
  }

  /// Marks the control-dependent blocks: walks up the post-dominator tree from each successor to the block's
  /// own post-dominator.
  void mark_dependent(std::uint32_t block, std::vector<std::uint32_t>& pending) {
    const std::vector<std::uint32_t>& post_dominators = kernel_.analyses->post_dominators();
    const std::uint32_t end = kernel_.call_may_exit[block] ? no_block : post_dominators[block];
    for (const std::uint32_t successor : graph_.blocks[block].successors) {
      for (std::uint32_t at = successor; at != end && at != no_block; at = post_dominators[at]) {
        if (!uniform_[at]) continue;
        uniform_[at] = false;
        pending.push_back(at);
      }
    }
  }

  const FunctionDraft& draft_;
  const CountedFunction& kernel_;
  const ControlFlowGraph& graph_;
  const Uniformity& uniformity_;
  const RegisterUsage& registers_;
  std::vector<bool> uniform_;  ///< per block
};

}  // namespace

std::uint8_t counted_dimensions(std::string_view body) {
  constexpr std::string_view names[] = {"%ctaid.x", "%ctaid.y", "%ctaid.z"};
  std::uint8_t dimensions = 0;
  for (std::size_t i = 0; i < std::size(names); ++i) {
    if (body.find(names[i]) != std::string_view::npos) dimensions |= static_cast<std::uint8_t>(1u << i);
  }
  return dimensions == 0 ? std::uint8_t{1} : dimensions;
}

void count_in_first_block(PlanDraft& plan) {
  FunctionDraft& kernel = plan.functions.front();
  if (!kernel.function.is_kernel()) return;
  const UniformPoints points(kernel);
  const std::vector<bool> partial = find_partial_warps(kernel.function, plan.inputs.reached);
  const auto is_partial = [&](const Increment& increment) {
    if (increment.amount == Increment::Amount::lane_maximum &&
        partial[kernel.facts.divergent_loops[increment.index].end])
      return true;
    return partial[increment.point.block];
  };
  const std::string_view body = plan.inputs.module.text(kernel.function.unit->function->body_text);
  const std::uint8_t dimensions = counted_dimensions(body);
  for (CounterDraft& counter : kernel.counters) {
    const std::vector<Increment>& increments = counter.increments;
    const bool is_uniform =
        std::ranges::all_of(increments, [&](const Increment& each) { return points.contain(each); });
    if (!is_uniform) continue;
    const bool may_diverge = counter.counts_warps && !counter.is_converged;
    if (!may_diverge || std::ranges::none_of(increments, is_partial)) counter.first_in = dimensions;
  }
}

}  // namespace lynxpp::ptx
