// The graphs that the program has instantiated: what each launches, and a clone of the graph that each was
// made from, from which the engine can make another one with variants instead of kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "interposer/preload/graph_clone.h"
#include "interposer/preload/registry.h"

namespace lynxpp::preload {

/// Contents of a living graph: its handles are valid until the graph is changed or destroyed.
struct GraphContents {
  struct KernelNode {
    void* node = nullptr;
    void* child = nullptr;  ///< outermost child graph node that contains it; null: the graph itself does
    KernelPtr kernel;
  };
  std::vector<KernelNode> kernels;
  const char* obstacle = nullptr;  ///< how its launches are counted if none runs with variants; else null
};

/// A kernel that a launch of an executable graph launches. Holds no handle.
struct GraphKernel {
  NodeName node = {};   ///< the name by which the clone knows it
  NodeName given = {};  ///< the name by which the program changes it
  NodeName child = {};  ///< of the outermost child graph that contains it; 0: none
  KernelPtr kernel;
};

/// One of the program's CUgraphExec.
struct ExecutableGraph {
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  std::uint64_t id = 0;               ///< never used twice
  std::uint64_t flags = 0;            ///< that it was instantiated with
  void* context = nullptr;            ///< the current context at that time; compared only
  std::mutex mutex;                   ///< guards the members below; held during launches
  std::uint64_t version = 0;          ///< another one whenever the program has changed it
  const char* obstacle = nullptr;     ///< how its launches are counted if none runs with variants; else null
  std::unique_ptr<GraphClone> clone;  ///< null if there is an obstacle, or no kernel
  std::vector<GraphKernel> kernels;
  std::vector<NodeName> disabled;    ///< nodes of any kind that do nothing, as the program names them
  std::uint64_t told_since = never;  ///< attachment since which the engine knows of its launches
  bool has_run_variants = false;     ///< when it was last launched

  bool is_enabled(const GraphKernel& kernel) const;
  /// The kernels that one launch launches, each with how often.
  std::vector<std::pair<KernelPtr, std::uint64_t>> launches() const;
  /// Null if there is no clone, or it does not know the node. `node` is a name by which the clone knows it.
  void* twin_of(NodeName node) const { return clone != nullptr ? clone->twin_of(node) : nullptr; }
  /// The name by which the clone knows the node that the program calls `given`.
  NodeName name_in_clone(NodeName given) const;

  // Precondition of the members below: Passthrough.

  /// Takes over the function of the graph, which has these `contents`. Clones it unless there is an obstacle.
  void become(void* graph, GraphContents contents);
  /// Makes the program launch it unchanged until it becomes another graph.
  void give_up(const char* why);
  /// Replaces the kernels of the child graph node of that name by those of `contents`. `contents`
  /// belong to the graph that replaces it in the clone, or in the program's graph if there is no clone.
  void replace_child(NodeName child, const GraphContents& contents);
};
using ExecutableGraphPtr = std::shared_ptr<ExecutableGraph>;

/// Thread safe. Keys are CUgraphExec.
class Graphs {
 public:
  /// In the place of one that was known by this key.
  ExecutableGraphPtr add(void* executable);
  ExecutableGraphPtr find(void* executable) const;
  /// Null when it is not known.
  ExecutableGraphPtr remove(void* executable);
  /// Removes and returns those that were instantiated in the context.
  std::vector<ExecutableGraphPtr> remove_all_of(void* context);

 private:
  mutable std::shared_mutex mutex_;
  std::uint64_t next_id_ = 1;
  std::unordered_map<void*, ExecutableGraphPtr> by_executable_;
};

/// The one of this process. Never destroyed: hooks run until the very end of the process.
Graphs& graphs();

}  // namespace lynxpp::preload
