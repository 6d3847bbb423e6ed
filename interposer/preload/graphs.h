// The graphs that the program has instantiated: what each launches, and a copy of the graph that each was
// made from, so that the engine can make another of it in which variants stand in the place of kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "interposer/preload/registry.h"

namespace lynxpp::preload {

/// A node of a graph that launches a kernel.
struct GraphKernel {
  void* node = nullptr;   ///< of the copy, or of a graph inside of it
  void* child = nullptr;  ///< the node of the copy that is the graph that holds it; null: the copy does
  KernelPtr kernel;
};

/// What a graph is made of.
struct GraphContents {
  std::vector<GraphKernel> kernels;
  const char* obstacle = nullptr;  ///< how its launches are counted, where none runs with variants; else null
};

/// A CUgraphExec of the program's. Where there is no copy, nodes are the program's own.
struct ExecutableGraph {
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  std::uint64_t id = 0;       ///< never used twice
  std::uint64_t flags = 0;    ///< it was instantiated with
  std::mutex mutex;           ///< guards what follows; held while it is launched
  std::uint64_t version = 0;  ///< another one whenever the program has changed it
  void* copy = nullptr;       ///< CUgraph; null where there is an obstacle
  GraphContents contents;
  std::unordered_map<void*, void*> twins;  ///< the program's nodes ▶ the copy's
  std::vector<void*> disabled;             ///< nodes that do nothing
  std::uint64_t told_since = never;        ///< attachment since which the engine knows of its launches
  bool has_run_variants = false;           ///< when it was last launched

  void* twin_of(void* node) const;
  bool is_enabled(const GraphKernel& kernel) const;
  /// The kernels that one launch launches, each with how often.
  std::vector<std::pair<KernelPtr, std::uint64_t>> launches() const;
  /// From now on its launches are the program's own. Precondition of this and the next two: Passthrough.
  void give_up(const char* why);
  /// Copies the graph; `contents` are then the copy's. Without one where there is an obstacle.
  template <typename Read>
  void take_copy_of(void* graph, Read contents_of) {
    contents = contents_of(graph);
    drop_copy();
    if (contents.obstacle != nullptr || contents.kernels.empty() || !make_copy(graph)) return;
    contents = contents_of(copy);
  }
  void drop_copy();

 private:
  bool make_copy(void* graph);
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

 private:
  mutable std::shared_mutex mutex_;
  std::uint64_t next_id_ = 1;
  std::unordered_map<void*, ExecutableGraphPtr> by_executable_;
};

/// The one of this process. Never destroyed: hooks run until the very end of the process.
Graphs& graphs();

}  // namespace lynxpp::preload
