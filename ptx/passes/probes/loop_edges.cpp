#include "ptx/passes/probes/loop_edges.h"

#include <algorithm>
#include <set>

namespace lynxpp::ptx {
namespace {

LoopEdge edge_to(const LoopNest& loops, std::uint32_t block, std::uint32_t target, bool falls_through) {
  LoopEdge edge{target, falls_through, {}, no_loop};
  for (std::uint32_t loop = loops.loop_of(block); loop != no_loop; loop = loops.loops()[loop].parent) {
    if (target == no_block || !loops.contains(loop, target)) edge.left.push_back(loop);
  }
  if (target == no_block) return edge;
  const std::uint32_t begun = loop_begun_by(loops, target);
  if (begun != no_loop && !loops.contains(begun, block)) edge.entered = begun;
  return edge;
}

}  // namespace

std::uint32_t loop_begun_by(const LoopNest& loops, std::uint32_t block) {
  const std::uint32_t inner = loops.loop_of(block);
  return inner != no_loop && loops.loops()[inner].header == block ? inner : no_loop;
}

bool is_chosen(const Loop& loop, const ControlFlowGraph& graph, const std::vector<Instruction>& instructions,
               const std::function<bool(const Instruction&)>& chooses) {
  const auto has_chosen = [&](std::uint32_t block) {
    const BasicBlock& range = graph.blocks[block];
    return std::any_of(instructions.begin() + range.begin, instructions.begin() + range.end, chooses);
  };
  return has_chosen(loop.header) || std::ranges::any_of(loop.latches, has_chosen);
}

bool begins_after(const ControlFlowGraph& graph, const LoopNest& loops, std::uint32_t loop,
                  std::uint32_t block) {
  return !loops.contains(loop, block) &&
         std::ranges::any_of(graph.blocks[block].predecessors,
                             [&](std::uint32_t each) { return loops.contains(loop, each); });
}

bool leads_back(const ControlFlowGraph& graph, const LoopNest& loops, std::uint32_t block) {
  return std::ranges::any_of(graph.blocks[block].targets, [&](std::uint32_t target) {
    const std::uint32_t begun = loop_begun_by(loops, target);
    return begun != no_loop && loops.contains(begun, block);
  });
}

std::vector<LoopEdge> loop_edges(const ControlFlowGraph& graph, const LoopNest& loops, std::uint32_t block) {
  const BasicBlock& range = graph.blocks[block];
  std::vector<LoopEdge> edges;
  const auto add = [&](std::uint32_t target, bool falls_through) {
    LoopEdge edge = edge_to(loops, block, target, falls_through);
    if (!edge.left.empty() || edge.entered != no_loop) edges.push_back(std::move(edge));
  };
  const std::set<std::uint32_t> targets(range.targets.begin(), range.targets.end());
  for (const std::uint32_t target : targets) add(target, false);
  if (range.leaves_function) add(no_block, false);
  if (range.fall_through != no_block) add(range.fall_through, true);
  return edges;
}

}  // namespace lynxpp::ptx
