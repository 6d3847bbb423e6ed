// A clone of one of the program's graphs, and the mapping from original nodes to cloned nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace lynxpp::preload {

/// The name of a node. It is compared and never passed to the driver: the node may no longer exist.
enum class NodeName : std::uintptr_t {};

inline NodeName name_of(const void* node) {
  return static_cast<NodeName>(reinterpret_cast<std::uintptr_t>(node));
}

// Queries of a living graph. Precondition of these and of every member of GraphClone: Passthrough is active.

/// Returns the nodes of a graph, without those of child graphs. Empty if the driver does not report them.
std::vector<void*> nodes_of(void* graph);
/// Returns the node's CUgraphNodeType; -1 if the driver does not report it.
int type_of(void* node);
/// Returns the graph that a child graph node contains; null for other nodes, or if the driver reports none.
void* graph_inside(void* node);

/// Owns a CUgraph and all handles of its nodes, which are valid until the clone changes or is destroyed.
class GraphClone {
 public:
  /// Returns null if the driver does not clone the graph.
  static std::unique_ptr<GraphClone> of(void* graph);
  ~GraphClone();
  GraphClone(const GraphClone&) = delete;
  GraphClone& operator=(const GraphClone&) = delete;

  void* graph() const { return graph_; }
  /// Returns the node that was cloned from the one of that name; null if unknown.
  void* twin_of(NodeName node) const;

  /// Replaces the node of that name, with its edges, by a child graph node that contains `child`. The
  /// inner nodes have no names. Returns the inner graph; null if the driver refuses or the node is
  /// itself inside a child graph; then the clone is no longer usable.
  void* replace_child(NodeName node, void* child);
  /// Assigns a node a name that none of the program's nodes has.
  NodeName invent_name(void* twin);

  /// Stops using the CUgraph: its context is gone.
  void abandon() { graph_ = nullptr; }

 private:
  GraphClone() = default;
  void forget_inside(void* graph);

  void* graph_ = nullptr;
  std::unordered_map<NodeName, void*> twins_;
  std::uintptr_t next_name_ = 1;  // odd, as no handle is
};

inline constexpr int kernel_node = 0;  // CUgraphNodeType
inline constexpr int child_graph_node = 4;

}  // namespace lynxpp::preload
