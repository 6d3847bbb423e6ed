#include "ptx/passes/counting/refine/alike.h"

#include <algorithm>
#include <vector>

#include "ptx/passes/counting/flow/regions.h"

namespace lynxpp::ptx {
namespace {

constexpr std::size_t most_visits = 10'000'000;  // of blocks

/// Where a warp may come in parts, because some of its lanes have gone on while others waited.
class PartedWarps {
 public:
  PartedWarps(const CountedFunction& kernel, const InstrumentationUnit& unit)
      : graph_(kernel.analyses->graph()),
        loops_(kernel.analyses->loops()),
        meetings_(kernel.analyses->post_dominators()),
        unit_(unit),
        waits_(graph_.blocks.size()),
        parted_(graph_.blocks.size()) {
    find_waits();
    if (std::ranges::find(waits_, true) == waits_.end()) return;
    for (std::uint32_t block = 0; block < graph_.blocks.size(); ++block) {
      // Lanes that do not meet again wait for nobody.
      if (graph_.blocks[block].successors.size() < 2 || meetings_[block] == no_block ||
          (kernel.analyses->uniformity().of_branch(block) & varies_in_warp) == 0)
        continue;
      if (may_wait_before_meeting(block)) mark_from(meetings_[block]);
    }
    if (visits_ > most_visits) parted_.assign(parted_.size(), true);
  }

  bool operator[](std::uint32_t block) const { return parted_[block]; }

 private:
  void find_waits() {
    const auto waits = [&](const FunctionUnit& function) {
      return std::ranges::any_of(function.function->body->instructions, [](const Instruction& instruction) {
        return instruction.traits.kind != OpcodeClass::call &&
               (instruction.traits.kind == OpcodeClass::barrier || may_spin(instruction));
      });
    };
    const auto callees = unit_.functions.begin() + 1;
    const bool callees_wait = std::any_of(callees, unit_.functions.end(), waits);
    const auto& instructions = unit_.kernel().function->body->instructions;
    for (std::uint32_t block = 0; block < graph_.blocks.size(); ++block) {
      for (std::uint32_t at = graph_.blocks[block].begin; at < graph_.blocks[block].end; ++at) {
        const Instruction& instruction = instructions[at];
        const bool is_call = instruction.traits.kind == OpcodeClass::call;
        if (instruction.traits.kind == OpcodeClass::barrier || (is_call && callees_wait) ||
            (!is_call && loops_.depth_of(block) != 0 && may_spin(instruction)))
          waits_[block] = true;
      }
    }
  }

  bool may_wait_before_meeting(std::uint32_t block) {
    std::vector<bool> seen(graph_.blocks.size());
    std::vector<std::uint32_t> pending = graph_.blocks[block].successors;
    while (!pending.empty()) {
      const std::uint32_t next = pending.back();
      pending.pop_back();
      if (next == meetings_[block] || seen[next]) continue;
      if (waits_[next] || ++visits_ > most_visits) return true;
      seen[next] = true;
      pending.insert(pending.end(), graph_.blocks[next].successors.begin(),
                     graph_.blocks[next].successors.end());
    }
    return false;
  }

  void mark_from(std::uint32_t begin) {
    std::vector<std::uint32_t> pending{begin};
    while (!pending.empty()) {
      const std::uint32_t block = pending.back();
      pending.pop_back();
      if (parted_[block]) continue;
      parted_[block] = true;
      pending.insert(pending.end(), graph_.blocks[block].successors.begin(),
                     graph_.blocks[block].successors.end());
    }
  }

  const ControlFlowGraph& graph_;
  const LoopNest& loops_;
  const std::vector<std::uint32_t>& meetings_;  ///< immediate post-dominators
  const InstrumentationUnit& unit_;
  std::vector<bool> waits_, parted_;
  std::size_t visits_ = 0;
};

class AlikePlaces {
 public:
  explicit AlikePlaces(const CountedFunction& kernel)
      : kernel_(kernel),
        graph_(kernel.analyses->graph()),
        instructions_(kernel.unit->function->body->instructions),
        uniformity_(kernel.analyses->uniformity()),
        registers_(kernel.analyses->registers()),
        alike_(graph_.blocks.size(), true) {
    std::vector<std::uint32_t> left;
    for (std::uint32_t block = 0; block < alike_.size(); ++block) {
      if (varies_behind(block)) left.push_back(block);
    }
    // What is executed more or less often passes that on to what depends on its own branch.
    while (!left.empty()) {
      const std::uint32_t block = left.back();
      left.pop_back();
      mark_dependent(block, left);
    }
  }

  bool is_alike(const CountPlace& place, const FunctionPlan& plan) const {
    switch (place.kind) {
      case CountPlace::Kind::entry: return true;
      case CountPlace::Kind::block_start:
      case CountPlace::Kind::block_end:
      case CountPlace::Kind::region_end: return alike_[place.block];
      case CountPlace::Kind::fall_through:
      case CountPlace::Kind::switch_target: return alike_[place.block] && !varies_behind(place.block);
      case CountPlace::Kind::guard_holds:
      case CountPlace::Kind::divides:
      case CountPlace::Kind::bypass:
      case CountPlace::Kind::vote:
        return alike_[place.block] && !varies_behind(place.block) && has_alike_guard(place.instruction);
      // Its header would depend on a way out that did not lead as often out in each.
      case CountPlace::Kind::leaves_apart: return is_alike(plan.loops[place.target], plan);
      case CountPlace::Kind::iterations:
        return alike_[place.block] && alike_[plan.iterations[place.target].block];
    }
    return false;
  }

  bool is_alike(const LoopPlan& loop, const FunctionPlan& plan) const {
    return alike_[loop.end] && alike_[kernel_.analyses->loops().loops()[loop.loop].header] &&
           is_alike(loop.begin, plan);
  }

 private:
  /// Threads of the same index may go on differently in different blocks of the grid.
  bool varies_behind(std::uint32_t block) const {
    return (uniformity_.of_branch(block) & varies_over_blocks) != 0 || kernel_.call_may_exit[block];
  }

  bool has_alike_guard(std::uint32_t instruction) const {
    const Guard& guard = instructions_[instruction].guard;
    if (guard.predicate.empty()) return true;
    const RegisterId reg = registers_.find(guard.predicate, instruction);
    return reg != no_register && (uniformity_.of_register_read(instruction, reg) & varies_over_blocks) == 0;
  }

  /// Up the tree of post-dominators from where the block leads to, as far as that is not passed anyway.
  void mark_dependent(std::uint32_t block, std::vector<std::uint32_t>& left) {
    const std::vector<std::uint32_t>& meetings = kernel_.analyses->post_dominators();
    const std::uint32_t meeting = kernel_.call_may_exit[block] ? no_block : meetings[block];
    for (const std::uint32_t successor : graph_.blocks[block].successors) {
      for (std::uint32_t at = successor; at != meeting && at != no_block; at = meetings[at]) {
        if (!alike_[at]) continue;
        alike_[at] = false;
        left.push_back(at);
      }
    }
  }

  const CountedFunction& kernel_;
  const ControlFlowGraph& graph_;
  const std::vector<Instruction>& instructions_;
  const Uniformity& uniformity_;
  const RegisterUsage& registers_;
  std::vector<bool> alike_;  ///< per block: executed equally often
};

}  // namespace

void find_alike_counters(FunctionPlan& plan, const CountedFunction& kernel, const InstrumentationUnit& unit) {
  const AlikePlaces places(kernel);
  const PartedWarps parted(kernel, unit);
  const auto is_parted = [&](const Counter& counter) {
    return (counter.is_maximum() && parted[plan.loops[counter.maximum_in].end]) ||
           std::ranges::any_of(counter.places, [&](const CountPlace& place) { return parted[place.block]; });
  };
  for (Counter& counter : plan.counters) {
    const bool is_alike = std::ranges::all_of(
        counter.places, [&](const CountPlace& place) { return places.is_alike(place, plan); });
    counter.is_alike = is_alike && !counter.places.empty() &&
                       (!counter.is_maximum() || places.is_alike(plan.loops[counter.maximum_in], plan)) &&
                       (!counter.counts_warps || counter.is_whole || !is_parted(counter));
  }
}

bool settle_alike_counters(FunctionPlan& plan) {
  bool has_numbers = false, has_others = false;
  for (Counter& counter : plan.counters) {
    counter.is_alike &= counter.storage != Counter::Storage::memory;
    has_numbers |= counter.is_alike && !counter.is_bit;
    const bool is_flushed =
        counter.storage != Counter::Storage::memory && (counter.is_tally || !counter.places.empty());
    has_others |= is_flushed && !counter.is_alike && !counter.is_bit;
  }
  // Bits come along where every block gives numbers away.
  if (!has_numbers && has_others) {
    for (Counter& counter : plan.counters) counter.is_alike = false;
  }
  return std::ranges::any_of(plan.counters, &Counter::is_alike);
}

GridDimensions counted_dimensions(std::string_view body) {
  constexpr std::string_view names[] = {"%ctaid.x", "%ctaid.y", "%ctaid.z"};
  GridDimensions dimensions = 0;
  for (std::size_t i = 0; i < std::size(names); ++i) {
    if (body.find(names[i]) != std::string_view::npos) dimensions |= static_cast<GridDimensions>(1u << i);
  }
  return dimensions == 0 ? GridDimensions{1} : dimensions;
}

}  // namespace lynxpp::ptx
