// Immediate post-dominators: immediate dominators of the reversed graph, starting at a virtual exit that
// succeeds every block that leaves the function.
#include <vector>

#include "ptx/analysis/flow/control_flow_graph.h"
#include "ptx/analysis/flow/immediate_dominators.h"

namespace lynxpp::ptx {

std::vector<std::uint32_t> immediate_post_dominators(const ControlFlowGraph& graph) {
  const auto exit = static_cast<std::uint32_t>(graph.blocks.size());
  std::vector<std::uint32_t> leaving;
  FlowGraph reversed;
  std::vector<std::vector<std::uint32_t>> onwards(graph.blocks.size());  // successors, including the exit
  for (std::uint32_t block = 0; block < exit; ++block) {
    onwards[block] = graph.blocks[block].successors;
    if (!graph.blocks[block].leaves_function) continue;
    leaving.push_back(block);
    onwards[block].push_back(exit);
  }
  for (std::uint32_t block = 0; block < exit; ++block) {
    reversed.successors.emplace_back(graph.blocks[block].predecessors);
    reversed.predecessors.emplace_back(onwards[block]);
  }
  reversed.successors.emplace_back(leaving);
  reversed.predecessors.emplace_back();
  std::vector<std::uint32_t> result = immediate_dominators(reversed, exit);
  result.pop_back();
  for (std::uint32_t& block : result) {
    if (block == exit) block = no_block;
  }
  return result;
}

}  // namespace lynxpp::ptx
