// Immediate dominators of any flow graph: what DominatorTree and immediate_post_dominators share. Inside this
// folder only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lynxpp::ptx {

/// A graph by its edges: successors[node] and predecessors[node].
struct FlowGraph {
  std::vector<std::span<const std::uint32_t>> successors;
  std::vector<std::span<const std::uint32_t>> predecessors;
};

/// The immediate dominator of every node when the graph is entered at `root`; no_block for the root and for
/// what it does not reach. Close to linear in the edges, also for deeply nested loops.
std::vector<std::uint32_t> immediate_dominators(const FlowGraph& graph, std::uint32_t root);

}  // namespace lynxpp::ptx
