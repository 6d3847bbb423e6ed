// The graphs that the program instantiated: which kernels each launches, and a clone of its source graph,
// from which the engine can create a graph that launches variants.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "interposer/owned_mutex.h"
#include "interposer/preload/graph_clone.h"
#include "interposer/preload/registry.h"

namespace lynxpp::preload {

/// Contents of a living graph: its handles are valid until the graph is changed or destroyed.
struct GraphContents {
  struct KernelNode {
    void* node = nullptr;
    void* child = nullptr;  ///< outermost child graph node that contains it; null: not in a child graph
    KernelPtr kernel;
  };
  std::vector<KernelNode> kernels;
  const char* obstacle = nullptr;  ///< why launches run without variants, as they are counted; null: none
};

/// A kernel that a launch of an executable graph runs. Holds no handle.
struct GraphKernel {
  NodeName node = {};   ///< the name by which the clone knows it
  NodeName given = {};  ///< the name by which the program changes it
  NodeName child = {};  ///< outermost child graph that contains it; 0: none
  KernelPtr kernel;
};

/// One of the program's CUgraphExec.
struct ExecutableGraph {
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  std::uint64_t id = 0;                           ///< never used twice
  std::uint64_t flags = 0;                        ///< flags it was instantiated with
  void* context = nullptr;                        ///< the current context at that time; compared only
  OwnedMutex<std::mutex> mutex{LockRank::graph};  ///< guards the members below; held during launches
  std::uint64_t version = 0;                      ///< changes whenever the program changes the graph
  const char* obstacle = nullptr;     ///< why launches run without variants, as they are counted; null: none
  std::unique_ptr<GraphClone> clone;  ///< null if there is an obstacle or the graph has no kernel
  std::vector<GraphKernel> kernels;
  std::vector<NodeName> disabled;    ///< disabled nodes of any kind, as the program names them
  std::uint64_t told_since = never;  ///< attachment since which the engine was notified of its launches
  bool has_run_variants = false;     ///< true if its last launch ran variants

  bool is_enabled(const GraphKernel& kernel) const;
  /// Returns the kernels that one launch runs, each with its number of executions.
  std::vector<std::pair<KernelPtr, std::uint64_t>> launches() const;
  /// Null if there is no clone, or it does not know the node. `node` is a name by which the clone knows it.
  void* twin_of(NodeName node) const { return clone != nullptr ? clone->twin_of(node) : nullptr; }
  /// The name by which the clone knows the node that the program calls `given`.
  NodeName name_in_clone(NodeName given) const;

  // Precondition of the members below: Passthrough is active.

  /// Takes on the role of the graph, which has these `contents`. Clones it unless there is an obstacle.
  void become(void* graph, GraphContents contents);
  /// Makes the program launch it unchanged until it becomes another graph.
  void give_up(const char* why);
  /// Replaces the kernels of the child graph node of that name by those of `contents`, which belong to the
  /// graph that replaces it in the clone, or in the program's graph if there is no clone.
  void replace_child(NodeName child, const GraphContents& contents);
};
using ExecutableGraphPtr = std::shared_ptr<ExecutableGraph>;

/// Thread safe. Keys are CUgraphExec.
class Graphs {
 public:
  /// Adds an executable graph, replacing any earlier one with this key.
  ExecutableGraphPtr add(void* executable);
  ExecutableGraphPtr find(void* executable) const;
  /// Returns null if it is unknown.
  ExecutableGraphPtr remove(void* executable);
  /// Removes and returns those that were instantiated in the context.
  std::vector<ExecutableGraphPtr> remove_all_of(void* context);

 private:
  mutable OwnedMutex<std::shared_mutex> mutex_{LockRank::leaf};
  std::uint64_t next_id_ = 1;
  std::unordered_map<void*, ExecutableGraphPtr> by_executable_;
};

/// Returns the graphs of this process. Never destroyed: hooks run until the very end of the process.
Graphs& graphs();

}  // namespace lynxpp::preload
