#include "ptx/passes/counting/flow/regions.h"

#include <algorithm>

#include "ptx/analysis/flow/walk.h"
#include "ptx/analysis/values/cohorts.h"

namespace lynxpp::ptx {
namespace {

/// True if the instruction, in a loop, may be how a lane waits for others. These must then make progress
/// first, wherever they are.
bool may_spin(const Instruction& instruction) {
  const OpcodeTraits& traits = instruction.traits;
  if (!traits.is_known() || traits.kind == OpcodeClass::atomic || traits.kind == OpcodeClass::call)
    return true;
  return instruction.has_any({Modifier::is_volatile, Modifier::relaxed, Modifier::acquire, Modifier::mmio});
}

}  // namespace

WarpRegions::WarpRegions(const CountedFunction& function, const EdgeSites& sites)
    : function_(function),
      sites_(sites),
      graph_(function.graph()),
      loops_(function.analyses->loops()),
      dominators_(function.analyses->dominators()),
      post_dominators_(function.analyses->post_dominators()),
      diverges_(graph_.blocks.size()),
      joins_(graph_.blocks.size()),
      waits_(graph_.blocks.size()),
      budget_(100000 + 64 * graph_.blocks.size()) {
  for (std::uint32_t block = 0; block < graph_.blocks.size(); ++block) {
    if (sites_.is_reachable(block)) look_at(block);
  }
}

void WarpRegions::look_at(std::uint32_t block) {
  const auto& instructions = function_.instructions();
  const BasicBlock& range = graph_.blocks[block];
  const auto holds = [&](bool (*property)(const Instruction&)) {
    return std::any_of(instructions.begin() + range.begin, instructions.begin() + range.end, property);
  };
  diverges_[block] = sites_.targets(block).size() > 1 &&
                     (function_.analyses->uniformity().of_branch(block) & varies_in_warp) != 0;
  joins_[block] = holds(may_join_lanes);
  const bool spins = holds(may_spin);
  waits_[block] = joins_[block] || spins;
  if (spins) spinning_loops_.insert(outermost_loop(block));
}

std::uint32_t WarpRegions::outermost_loop(std::uint32_t block) const {
  std::uint32_t loop = loops_.loop_of(block);
  while (loop != no_loop && loops_.loops()[loop].parent != no_loop) loop = loops_.loops()[loop].parent;
  return loop;
}

/// True if lanes may spin in a loop around the block.
bool WarpRegions::may_spin_around(std::uint32_t block) const {
  const std::uint32_t loop = outermost_loop(block);
  return loop != no_loop && spinning_loops_.contains(loop);
}

bool WarpRegions::spend() {
  if (budget_ == 0) return false;
  --budget_;
  return true;
}

std::optional<std::vector<std::uint32_t>> WarpRegions::region_of(std::uint32_t begin, std::uint32_t end) {
  if (loops_.loop_of(begin) != loops_.loop_of(end) || loops_.is_irreducible(begin) ||
      loops_.is_irreducible(end))
    return std::nullopt;
  return blocks_between(begin, end, no_loop);
}

/// If `loop` is not no_loop, `begin` is its header, which may be executed repeatedly.
std::optional<std::vector<std::uint32_t>> WarpRegions::blocks_between(std::uint32_t begin, std::uint32_t end,
                                                                      std::uint32_t loop) {
  if (graph_.blocks[begin].leaves_function || may_spin_around(begin)) return std::nullopt;
  if (loop != no_loop && waits_[begin]) return std::nullopt;
  std::vector<std::uint32_t> region;
  const bool is_region = walk_blocks(graph_, graph_.blocks[begin].successors, end, [&](std::uint32_t block) {
    region.push_back(block);
    return spend() && (block != begin || loop != no_loop) && dominators_.dominates(begin, block) &&
           !graph_.blocks[block].leaves_function && !waits_[block];
  });
  if (!is_region) return std::nullopt;
  std::ranges::sort(region);
  return region;
}

// ---------------------------------------------------------------- divergent loops

std::vector<DivergentLoop> WarpRegions::divergent_loops() {
  std::vector<DivergentLoop> found;
  for (std::uint32_t loop = 0; loop < loops_.loops().size(); ++loop) {
    if (std::optional<DivergentLoop> divergent = divergent_loop(loop)) found.push_back(std::move(*divergent));
  }
  return found;
}

/// Returns the block that each thread reaches exactly once per entry of the loop; no_block if none exists.
std::uint32_t WarpRegions::end_of_loop(std::uint32_t loop) const {
  std::uint32_t end = loops_.loops()[loop].header;
  if (end == 0 || loops_.is_irreducible(end)) return no_block;
  while (end != no_block && loops_.contains(loop, end)) end = post_dominators_[end];
  if (end == no_block || loops_.loop_of(end) != loops_.loops()[loop].parent || loops_.is_irreducible(end))
    return no_block;
  return end;
}

std::optional<DivergentLoop> WarpRegions::divergent_loop(std::uint32_t loop) {
  // Inner loops are entered often: a maximum over the lanes per entry would cost more than it saves.
  const bool diverges_at_exit = (function_.analyses->uniformity().of_loop_exit(loop) & varies_in_warp) != 0;
  if (loops_.loops()[loop].depth != 1 || !diverges_at_exit) return std::nullopt;
  DivergentLoop divergent;
  divergent.loop = loop;
  divergent.end = end_of_loop(loop);
  const std::uint32_t preheader = only_entry(loop);
  if (divergent.end == no_block || preheader == no_block || !lanes_iterate_together(loop))
    return std::nullopt;
  std::optional<std::vector<std::uint32_t>> blocks =
      blocks_between(loops_.loops()[loop].header, divergent.end, loop);
  if (!blocks) return std::nullopt;
  divergent.blocks = std::move(*blocks);
  if (!find_begin(divergent, preheader)) return std::nullopt;
  return divergent;
}

/// Returns the header's only predecessor outside the loop; no_block if there are several.
std::uint32_t WarpRegions::only_entry(std::uint32_t loop) const {
  std::uint32_t preheader = no_block;
  for (const std::uint32_t before : graph_.blocks[loops_.loops()[loop].header].predecessors) {
    if (loops_.contains(loop, before) || !sites_.is_reachable(before)) continue;
    if (preheader != no_block) return no_block;
    preheader = before;
  }
  return preheader;
}

bool WarpRegions::lanes_iterate_together(std::uint32_t loop) {
  return std::ranges::all_of(loops_.blocks_of(loop), [&](std::uint32_t block) {
    if (loops_.is_irreducible(block)) return false;
    const bool leads_out = std::ranges::any_of(
        graph_.blocks[block].successors, [&](std::uint32_t next) { return !loops_.contains(loop, next); });
    if (leads_out && loops_.loop_of(block) != loop) return false;
    return !diverges_[block] || stays_together(block, loop);
  });
}

/// True if lanes that diverge in a block of the loop and stay in the loop reconverge before the next
/// iteration.
bool WarpRegions::stays_together(std::uint32_t divergence, std::uint32_t loop) {
  const std::vector<std::uint32_t>& targets = graph_.blocks[divergence].successors;
  const std::uint32_t meeting = post_dominators_[divergence];
  if (meeting == no_block || !loops_.contains(loop, meeting)) {
    const auto stay =
        std::ranges::count_if(targets, [&](std::uint32_t next) { return loops_.contains(loop, next); });
    return stay == 1 && targets.size() > 1 &&
           std::ranges::all_of(loops_.loops()[loop].latches,
                               [&](std::uint32_t latch) { return dominators_.dominates(divergence, latch); });
  }
  return walk_blocks(graph_, targets, meeting, [&](std::uint32_t block) {
    return spend() && block != loops_.loops()[loop].header && loops_.contains(loop, block);
  });
}

/// Chooses where to record the lanes expected at the loop's end: in the end's dominator, or at the loop entry
/// if all paths to the end pass through the loop. Returns false if neither is possible.
bool WarpRegions::find_begin(DivergentLoop& divergent, std::uint32_t preheader) {
  const std::uint32_t header = loops_.loops()[divergent.loop].header;
  const std::uint32_t above = dominators_.immediate(divergent.end);
  if (above == header || std::ranges::binary_search(divergent.blocks, above)) {
    const BasicBlock& block = graph_.blocks[preheader];
    divergent.begin = point_after(preheader);
    if (sites_.targets(preheader).size() == 1 || sites_.ends_in_call(preheader)) return true;
    divergent.begin = {ProgramPoint::Kind::after, preheader, block.end - 1};
    divergent.begins_after_branch = diverges_[preheader];
    return block.fall_through == header && std::ranges::find(block.targets, header) == block.targets.end();
  }
  if (above == no_block) return false;
  std::uint32_t meeting = above;
  while (meeting != no_block && meeting != divergent.end) meeting = post_dominators_[meeting];
  if (meeting == no_block) return false;
  const std::optional<std::vector<std::uint32_t>> region = region_of(above, divergent.end);
  divergent.begin = point_after(above);
  return region && std::ranges::binary_search(*region, header) && enters_once(divergent, *region);
}

/// Returns the program point where a block's lanes continue: after a call, some lanes may not return, or may
/// return at different times.
ProgramPoint WarpRegions::point_after(std::uint32_t block) const {
  if (!sites_.ends_in_call(block)) return {ProgramPoint::Kind::block_end, block, 0};
  return {ProgramPoint::Kind::after, block, graph_.blocks[block].end - 1};
}

/// True if the lanes of `begin` that enter the loop do so together rather than one after the other.
bool WarpRegions::enters_once(const DivergentLoop& divergent, const std::vector<std::uint32_t>& region) {
  const std::uint32_t header = loops_.loops()[divergent.loop].header;
  const auto diverges_before = [&](std::uint32_t block) {
    if (!diverges_[block] || block == header || std::ranges::binary_search(divergent.blocks, block))
      return false;
    const auto edges = std::ranges::count_if(graph_.blocks[block].successors, [&](std::uint32_t next) {
      return reaches(next, header, post_dominators_[block]);
    });
    return edges > 1;
  };
  return !diverges_before(divergent.begin.block) && std::ranges::none_of(region, diverges_before) &&
         budget_ != 0;
}

/// True if a path from a block to `target` avoids `barrier`.
bool WarpRegions::reaches(std::uint32_t from, std::uint32_t target, std::uint32_t barrier) {
  return !walk_blocks(graph_, {from}, barrier,
                      [&](std::uint32_t block) { return block != target && spend(); });
}

}  // namespace lynxpp::ptx
