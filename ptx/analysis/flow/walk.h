// Depth first through the blocks of a function.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ptx/analysis/flow/control_flow_graph.h"

namespace lynxpp::ptx {

/// Visits each block once that a path from one of `begin` reaches, these included, without passing `barrier`
/// (no_block: none). Blocks that are `seen` are not visited, nor what lies after them; those
/// that are visited become so. False: `visit(block)` was, which ends the walk.
template <typename Visit>
bool walk_blocks(const ControlFlowGraph& graph, std::vector<std::uint32_t> begin, std::uint32_t barrier,
                 std::vector<bool>& seen, const Visit& visit) {
  std::vector<std::uint32_t> pending = std::move(begin);
  while (!pending.empty()) {
    const std::uint32_t block = pending.back();
    pending.pop_back();
    if (block == barrier || seen[block]) continue;
    if (!visit(block)) return false;
    seen[block] = true;
    const std::vector<std::uint32_t>& next = graph.blocks[block].successors;
    pending.insert(pending.end(), next.begin(), next.end());
  }
  return true;
}

/// With nothing seen yet.
template <typename Visit>
bool walk_blocks(const ControlFlowGraph& graph, std::vector<std::uint32_t> begin, std::uint32_t barrier,
                 const Visit& visit) {
  std::vector<bool> seen(graph.blocks.size());
  return walk_blocks(graph, std::move(begin), barrier, seen, visit);
}

}  // namespace lynxpp::ptx
