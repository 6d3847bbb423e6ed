// Depth-first walk over the blocks of a function.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ptx/analysis/flow/control_flow_graph.h"

namespace lynxpp::ptx {

/// Visits each block reachable from `begin`, including those blocks, without passing `barrier` (no_block: no
/// barrier). Skips blocks that are `seen` and paths through them; marks visited blocks as seen. Returns false
/// as soon as `visit(block)` does.
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

/// The same with no blocks seen.
template <typename Visit>
bool walk_blocks(const ControlFlowGraph& graph, std::vector<std::uint32_t> begin, std::uint32_t barrier,
                 const Visit& visit) {
  std::vector<bool> seen(graph.blocks.size());
  return walk_blocks(graph, std::move(begin), barrier, seen, visit);
}

}  // namespace lynxpp::ptx
