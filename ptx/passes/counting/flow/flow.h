// The flows of threads and of warps through one function, for plan.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ptx/analysis/analyses.h"
#include "ptx/passes/counting/plan.h"

namespace lynxpp::ptx {

struct CountedFunction {
  const FunctionUnit* unit = nullptr;
  FunctionAnalyses* analyses = nullptr;
  bool is_kernel = true;
  bool entry_is_known = true;       ///< how many threads and warps enter will be given
  bool counts_loops = false;        ///< counters may be the most that a lane counts (Counter::maximum_in)
  bool leaves_together = false;     ///< see FunctionPlan
  std::vector<bool> call_may_exit;  ///< per block: it ends with a call from which threads may not come back
  std::vector<Iterations> iterations;  ///< at hand
  /// ascending: blocks whose executions by warps cost next to nothing (paths.h)
  std::vector<std::uint32_t> path_begins;
};

/// An edge of a flow, and the counter that it gets when it has to be counted.
struct CountedEdge {
  FlowEdge flow;
  Counter counter;
  bool is_entry = false;
};

/// A flow. Nodes are the blocks, and those in front of some; number `nodes` is the outside. Unreachable
/// blocks have no edges.
struct FlowGraphEdges {
  std::vector<CountedEdge> edges;
  std::uint32_t nodes = 0;
  std::vector<std::uint32_t> fronts;  ///< see FlowPlan
};

struct WarpEdges {
  FlowGraphEdges flow;
  std::vector<LoopPlan> loops;  ///< of which Counter::maximum_in is one
  std::vector<bool> once;       ///< per block: see Counter::is_once
};

FlowGraphEdges thread_flow(const CountedFunction& function);
/// Edges that go on in a loop that lanes leave in different iterations are counted by its lanes where
/// `counts_loops`.
WarpEdges warp_flow(const CountedFunction& function);

/// Where the first branch that may part a warp, which every warp comes to once, probably leads most of them
/// on to a block, the warps that have no lane going there are counted instead. Behind other branches in loops
/// that a whole warp comes to, a vote counts. `edges` are those of warp_flow.
void count_bypasses(const CountedFunction& function, std::vector<CountedEdge>& edges);

/// Ends in a branch or exit with a guard, and the block behind it is only reached by falling through.
bool guard_follows_from_flow(const FunctionUnit& unit, std::uint32_t block);

class LikelyWays;

/// A counter of a block's beginning, its unit left open.
Counter counter_at_start(const CountedFunction& function, std::uint32_t block);

/// Helper of both flows: where edges can be counted and how often they are taken.
class EdgePlaces {
 public:
  explicit EdgePlaces(const CountedFunction& function);

  static constexpr std::uint32_t leaves = 0xffffffff;  ///< the target of an edge out of the function

  bool is_reachable(std::uint32_t block) const;
  bool ends_in_call(std::uint32_t block) const;
  /// Blocks that `block` leads to, and `leaves`.
  const std::vector<std::uint32_t>& ways(std::uint32_t block) const { return ways_[block]; }
  /// The edge's counter, its unit left open. Precondition: it can be counted.
  Counter edge(std::uint32_t source, std::uint32_t target) const;
  bool can_count(std::uint32_t source, std::uint32_t target) const;
  Counter block_start(std::uint32_t block) const { return counter_at_start(function_, block); }
  Counter block_end(std::uint32_t block) const;
  Counter entry() const;

 private:
  bool is_rare(std::uint32_t source, std::uint32_t target) const;
  bool needs_equality(std::uint32_t source, std::uint32_t target) const;
  bool is_short_end(std::uint32_t block) const;
  std::vector<CountPlace> places(std::uint32_t source, std::uint32_t target) const;

  const CountedFunction& function_;
  const ControlFlowGraph& graph_;
  const std::vector<Instruction>& instructions_;
  std::vector<std::vector<std::uint32_t>> ways_;
  std::vector<std::uint32_t> ways_in_;
  mutable std::shared_ptr<const LikelyWays> likely_;  ///< once somebody asks
};

}  // namespace lynxpp::ptx
