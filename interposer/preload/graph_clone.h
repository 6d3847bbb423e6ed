// A clone of a graph of the program's, and which of its nodes was made from which.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace lynxpp::preload {

/// The name of a node. It is compared and never passed to the driver: the node may be gone.
enum class NodeName : std::uintptr_t {};

inline NodeName name_of(const void* node) {
  return static_cast<NodeName>(reinterpret_cast<std::uintptr_t>(node));
}

// Questions about a living graph. Precondition of these and of every call of GraphClone: Passthrough.

/// The nodes of a graph, without those of graphs inside of it. Empty if the driver does not say.
std::vector<void*> nodes_of(void* graph);
/// The node's CUgraphNodeType; -1 if the driver does not say.
int type_of(void* node);
/// The graph that a child graph node contains; null for other nodes, or if the driver does not say.
void* graph_inside(void* node);

/// Owns a CUgraph and all handles of its nodes, which are valid until the clone changes or dies.
class GraphClone {
 public:
  /// Null: the driver does not clone the graph.
  static std::unique_ptr<GraphClone> of(void* graph);
  ~GraphClone();
  GraphClone(const GraphClone&) = delete;
  GraphClone& operator=(const GraphClone&) = delete;

  void* graph() const { return graph_; }
  /// The node that was made from the one of that name; null: unknown.
  void* twin_of(NodeName node) const;

  /// Puts a child graph node that contains `child` in the place of the one of that name, with its edges. The
  /// nodes inside of it have no names. Returns the graph inside; null if the driver refuses or the node is
  /// itself inside of another graph, and then the clone is of no more use.
  void* replace_child(NodeName node, void* child);
  /// Gives a node a name that no node of the program's has.
  NodeName invent_name(void* twin);

  /// Leaves the CUgraph alone from now on: its context is gone.
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
