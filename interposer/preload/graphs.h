// The graphs that the program has instantiated: what each launches, and a clone of the graph that each was
// made from, so that the engine can make another of it in which variants stand in the place of kernels.
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

/// Contents of a living graph: its handles are valid while nobody changes or destroys it.
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
  NodeName node = {};   ///< by which the clone knows it
  NodeName given = {};  ///< by which the program changes it
  NodeName child = {};  ///< of the outermost child graph that contains it; 0: the graph itself does
  KernelPtr kernel;
};

/// A CUgraphExec of the program's.
struct ExecutableGraph {
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  std::uint64_t id = 0;               ///< never used twice
  std::uint64_t flags = 0;            ///< it was instantiated with
  void* context = nullptr;            ///< that was current then; compared only
  std::mutex mutex;                   ///< guards what follows; held while it is launched
  std::uint64_t version = 0;          ///< another one whenever the program has changed it
  const char* obstacle = nullptr;     ///< how its launches are counted if none runs with variants; else null
  std::unique_ptr<GraphClone> clone;  ///< null where there is an obstacle, or no kernel
  std::vector<GraphKernel> kernels;
  std::vector<NodeName> disabled;    ///< nodes of any kind that do nothing, as the program names them
  std::uint64_t told_since = never;  ///< attachment since which the engine knows of its launches
  bool has_run_variants = false;     ///< when it was last launched

  bool is_enabled(const GraphKernel& kernel) const;
  /// The kernels that one launch launches, each with how often.
  std::vector<std::pair<KernelPtr, std::uint64_t>> launches() const;
  /// Null: there is no clone, or it does not know the node.
  void* twin_of(NodeName node) const { return clone != nullptr ? clone->twin_of(node) : nullptr; }

  // Precondition of what follows: Passthrough.

  /// Takes over what the graph does; `contents` are the graph's. It is cloned if nothing is in the way.
  void become(void* graph, GraphContents contents);
  /// From now on its launches are the program's own, until it becomes another graph.
  void give_up(const char* why);
  /// Puts the kernels of `contents` in the place of those of the child graph node of that name. `contents`
  /// are of the graph that has taken its place in the clone, or in the program's graph if there is no clone.
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
  /// Those that were instantiated in the context.
  std::vector<ExecutableGraphPtr> remove_all_of(void* context);

 private:
  mutable std::shared_mutex mutex_;
  std::uint64_t next_id_ = 1;
  std::unordered_map<void*, ExecutableGraphPtr> by_executable_;
};

/// The one of this process. Never destroyed: hooks run until the very end of the process.
Graphs& graphs();

}  // namespace lynxpp::preload
