// Immediate dominators of any flow graph, shared by DominatorTree and immediate_post_dominators. Private to
// this folder.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lynxpp::ptx {

/// A graph given by its edges: successors[node] and predecessors[node].
struct FlowGraph {
  std::vector<std::span<const std::uint32_t>> successors;
  std::vector<std::span<const std::uint32_t>> predecessors;
};

/// Returns the immediate dominator of every node if the graph is entered at `root`; no_block for the root and
/// for unreachable nodes. Nearly linear in the number of edges, even for deeply nested loops.
std::vector<std::uint32_t> immediate_dominators(const FlowGraph& graph, std::uint32_t root);

}  // namespace lynxpp::ptx
