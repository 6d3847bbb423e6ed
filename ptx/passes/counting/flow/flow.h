// The flows of threads and of warps through one function: what enters a node leaves it.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/analysis/flow/edge_placement.h"
#include "ptx/passes/counting/counters.h"
#include "ptx/passes/counting/flow/likely.h"
#include "ptx/passes/counting/flow/program.h"
#include "ptx/passes/counting/linear_system.h"

namespace lynxpp::ptx {

/// A number that could be counted, before it is decided how.
struct CounterDraft {
  std::vector<Increment> increments;
  bool counts_warps = false;
  double weight = 1;     ///< estimated increments per entry of the function
  bool repeats = false;  ///< perhaps more than one increment per entry of the function
  /// All launched lanes of a warp make each increment together.
  bool is_whole = false;
  /// A warp makes one increment at most, and all lanes that ever do make it together.
  bool is_once = false;
  VariableId variable = no_variable;  ///< that it measures, once it is known that it is needed
  std::uint8_t first_in = 0;          ///< see Counter::first_in

  bool amounts_to(Increment::Amount amount) const {
    return !increments.empty() && increments[0].amount == amount;
  }
};

/// An edge of a flow, and the counter it gets when it has to be counted.
struct CountedEdge {
  FlowEdge flow;
  CounterDraft counter;
  bool is_entry = false;
  /// Its counter counts the launched warps that do not take it.
  bool is_complement = false;
  /// Its flow is `trips` times what enters the loop: it is not counted.
  std::uint64_t trips = 0;
  std::uint32_t loop = no_loop;  ///< with `trips`
};

/// Nodes are the blocks, and one in front of each block whose executions are counted on an edge of their own;
/// number `nodes` is the outside. Unreachable blocks have no edges.
struct FlowGraph {
  std::vector<CountedEdge> edges;
  std::uint32_t nodes = 0;
  std::vector<std::uint32_t> fronts;  ///< per block: the node that edges to it lead to
};

/// Where edges of a function can be counted, and how often they are estimated to be taken.
class EdgePlaces {
 public:
  explicit EdgePlaces(const CountedFunction& function);

  static constexpr std::uint32_t outside = 0xffffffff;  ///< the target of an edge out of the function

  bool is_reachable(std::uint32_t block) const;
  bool ends_in_call(std::uint32_t block) const;
  /// One edge leads to the block, the entry included.
  bool has_one_source(std::uint32_t block) const { return sources_[block] == 1; }
  /// Blocks that `block` leads to, and `outside`.
  const std::vector<std::uint32_t>& targets(std::uint32_t block) const { return targets_[block]; }
  /// The edge's counter. Precondition: it does not exit in a function that `source` calls.
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
  std::vector<std::uint32_t> sources_;  ///< per block: how many edges lead to it
};

/// Each edge of the control flow, the entry, and what the trip counts give; of those that are constant with
/// `takes_constants` alone.
FlowGraph thread_flow(const CountedFunction& function, const EdgePlaces& places,
                      const std::vector<TripCount>& trip_counts, bool takes_constants);

}  // namespace lynxpp::ptx
