// Flow graphs of threads and of warps through one function: flow into a node equals flow out of it.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/analysis/flow/edge_placement.h"
#include "ptx/passes/counting/counters.h"
#include "ptx/passes/counting/flow/likely.h"
#include "ptx/passes/counting/flow/program.h"
#include "ptx/passes/counting/linear_system.h"

namespace lynxpp::ptx {

/// A candidate counter, before its storage is chosen.
struct CounterDraft {
  CounterKind kind = CounterKind::threads;
  std::vector<Increment> increments;
  double weight = 1;                  ///< estimated increments per entry of the function
  bool repeats = false;               ///< perhaps more than one increment per entry of the function
  VariableId variable = no_variable;  ///< the variable that it measures, once the counter is needed

  bool amounts_to(Increment::Amount amount) const {
    return !increments.empty() && increments[0].amount == amount;
  }
};

/// An edge of a flow graph, and its counter if the edge is counted.
struct CountedEdge {
  FlowEdge flow;
  CounterDraft counter;
  bool is_entry = false;
  /// True if the counter counts the launched warps that do not take the edge.
  bool is_complement = false;
};

/// The nodes are the blocks; node `nodes` is the outside of the function. Unreachable blocks have no edges.
struct FlowGraph {
  std::vector<CountedEdge> edges;
  std::uint32_t nodes = 0;
};

/// The program points at which edges of a function can be counted, and estimated edge frequencies.
class EdgeSites {
 public:
  explicit EdgeSites(const CountedFunction& function);

  static constexpr std::uint32_t outside = 0xffffffff;  ///< the target of edges out of the function

  bool is_reachable(std::uint32_t block) const;
  bool ends_in_call(std::uint32_t block) const;
  /// True if the block has exactly one incoming edge, including the entry edge.
  bool has_one_source(std::uint32_t block) const { return sources_[block] == 1; }
  /// Returns the successors of `block`, and `outside` if it may exit.
  const std::vector<std::uint32_t>& targets(std::uint32_t block) const { return targets_[block]; }
  /// Returns the edge's counter. Requires that the edge is not an exit in a callee of `source`.
  CounterDraft edge(std::uint32_t source, std::uint32_t target) const;
  CounterDraft block_start(std::uint32_t block) const;
  CounterDraft block_end(std::uint32_t block) const;
  CounterDraft entry() const;
  double frequency(std::uint32_t block) const;
  const LikelyBranches& likely() const { return likely_; }
  bool repeats(std::uint32_t block) const { return depth(block) != 0; }

 private:
  std::uint32_t depth(std::uint32_t block) const;
  bool is_short_end(std::uint32_t block) const;
  bool is_early_exit(std::uint32_t source, std::uint32_t target) const;
  Increment increment(std::uint32_t source, std::uint32_t target) const;

  const CountedFunction& function_;
  const ControlFlowGraph& graph_;
  const std::vector<Instruction>& instructions_;
  const LikelyBranches likely_;
  std::vector<std::vector<std::uint32_t>> targets_;
  std::vector<std::uint32_t> sources_;  ///< per block: number of incoming edges
};

/// Returns the flow graph of threads: all control-flow edges and the entry.
FlowGraph thread_flow(const CountedFunction& function, const EdgeSites& sites);

}  // namespace lynxpp::ptx
