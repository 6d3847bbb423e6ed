// Edges on which threads enter and exit natural loops.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ptx/analysis/flow/control_flow_graph.h"
#include "ptx/analysis/flow/loops.h"
#include "ptx/ir/module.h"

namespace lynxpp::ptx {

/// A CFG edge that enters or exits loops.
struct LoopEdge {
  std::uint32_t target = no_block;  ///< no_block: out of the function
  /// True if reached without a jump: by a branch whose guard fails, after a call, or from the preceding
  /// block.
  bool falls_through = false;
  std::vector<std::uint32_t> left;  ///< in LoopNest::loops(), innermost first
  std::uint32_t entered = no_loop;
};

/// Returns the out-edges of a block that enter or exit loops. A target reached both by a jump and by falling
/// through appears twice.
std::vector<LoopEdge> loop_edges(const ControlFlowGraph& graph, const LoopNest& loops, std::uint32_t block);

/// Returns the loop whose header is the block, or no_loop.
std::uint32_t loop_begun_by(const LoopNest& loops, std::uint32_t block);

/// True if `chooses` is true for an instruction of the loop's header or of a block that branches back to it:
/// these have the source line of the loop statement.
bool is_chosen(const Loop& loop, const ControlFlowGraph& graph, const std::vector<Instruction>& instructions,
               const std::function<bool(const Instruction&)>& chooses);

/// True if an edge to the block exits the loop.
bool begins_after(const ControlFlowGraph& graph, const LoopNest& loops, std::uint32_t loop,
                  std::uint32_t block);

/// True if the branch at the block's end may take a back edge of a loop around the block.
bool leads_back(const ControlFlowGraph& graph, const LoopNest& loops, std::uint32_t block);

}  // namespace lynxpp::ptx
