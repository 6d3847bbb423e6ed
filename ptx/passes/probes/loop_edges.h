// Where threads enter and exit natural loops.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/analysis/flow/control_flow_graph.h"
#include "ptx/analysis/flow/loops.h"

namespace lynxpp::ptx {

/// A CFG edge that enters or exits loops.
struct LoopEdge {
  std::uint32_t target = no_block;  ///< no_block: out of the function
  /// Reached without a jump: by a branch whose guard does not hold, after a call, or from block to block.
  bool falls_through = false;
  std::vector<std::uint32_t> left;  ///< in LoopNest::loops(), innermost first
  std::uint32_t entered = no_loop;
};

/// Out-edges of a block that enter or exit loops; a target reached by jump and by fall-through appears twice.
std::vector<LoopEdge> loop_edges(const ControlFlowGraph& graph, const LoopNest& loops, std::uint32_t block);

/// The loop that begins with the block; no_loop: none does.
std::uint32_t loop_begun_by(const LoopNest& loops, std::uint32_t block);

/// Whether an edge to the block exits the loop.
bool begins_behind(const ControlFlowGraph& graph, const LoopNest& loops, std::uint32_t loop,
                   std::uint32_t block);

/// Whether the branch at the block's end may lead back to the beginning of a loop that the block is in.
bool leads_back(const ControlFlowGraph& graph, const LoopNest& loops, std::uint32_t block);

}  // namespace lynxpp::ptx
