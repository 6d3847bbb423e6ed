// The program's graphs, for the runtime API and the driver API. executable_graphs.h launches them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "device/cpu/runtime/graphs/graph.h"

namespace lynxpp::device::cpu {

/// Thread safe. Handles are opaque to the program, and every function validates its handles.
class Graphs {
 public:
  cudaGraph_t create();
  /// Returns the handle of a graph.
  cudaGraph_t enter(std::shared_ptr<Graph> graph);
  bool destroy(cudaGraph_t handle);
  /// Also finds child graphs.
  std::shared_ptr<Graph> find(cudaGraph_t handle);

  /// Errors: cudaErrorInvalidValue for an invalid graph handle, or a dependency that is not a node of the
  /// graph.
  cudaError_t add(cudaGraph_t graph, const cudaGraphNode_t* dependencies, std::size_t count, GraphNode node,
                  cudaGraphNode_t* added);
  /// Adds a node during a capture, whose handles are known to be valid.
  GraphNode* add_captured(Graph& graph, const std::vector<GraphNode*>& dependencies, Work work);
  /// Same errors as add(); also for an existing dependency, or a node's dependency on itself.
  cudaError_t add_dependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                               std::size_t count);
  /// Errors: cudaErrorInvalidValue if a dependency does not exist; then none is removed.
  cudaError_t remove_dependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                  std::size_t count);
  /// Lists the nodes that the node depends on, or its dependents; stored as by list().
  enum class Neighbours { before, after };
  cudaError_t neighbours(cudaGraphNode_t node, Neighbours which, cudaGraphNode_t* nodes, std::size_t* count);
  /// Removes a node and its dependencies from its graph.
  cudaError_t destroy_node(cudaGraphNode_t node);
  /// Copies a graph, for a child node or for the program. Errors: cudaErrorNotSupported if the graph
  /// allocates memory.
  cudaError_t copy(cudaGraph_t graph, std::shared_ptr<Graph>& made);
  /// Lists the nodes, with `roots_only` those without dependencies. Stores at most *count nodes and sets
  /// *count to the number stored; without `nodes`, sets it to the total.
  cudaError_t list(cudaGraph_t graph, bool roots_only, cudaGraphNode_t* nodes, std::size_t* count);
  cudaError_t type_of(cudaGraphNode_t node, cudaGraphNodeType* type);
  /// Lists the dependencies, as list() does.
  cudaError_t edges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, std::size_t* count);
  /// Returns a node's work; nullopt for an invalid handle or a node of another type.
  std::optional<Work> work_of(cudaGraphNode_t node, cudaGraphNodeType type);
  /// Returns the launch of a kernel node; null for other nodes and invalid handles.
  std::shared_ptr<const KernelCall> kernel_of(cudaGraphNode_t node);
  /// Finds the node of `clone` that is a copy of the node. Errors: cudaErrorInvalidValue if there is no such
  /// node.
  cudaError_t find_in_clone(cudaGraphNode_t node, cudaGraph_t clone, cudaGraphNode_t* found);
  /// Changes a node; executable graphs are not affected. Errors: cudaErrorInvalidValue for work of another
  /// type.
  cudaError_t set_work(cudaGraphNode_t node, Work work);
  /// Returns a node's child graph, which the node still owns. Errors: cudaErrorInvalidValue if it has none.
  cudaError_t child_of(cudaGraphNode_t node, cudaGraph_t* child);

  /// Returns the memory that the node allocates (`allocates`) or frees; null for other nodes.
  std::shared_ptr<const GraphMemory> memory_of(cudaGraphNode_t node, bool allocates);

  /// Returns the nodes' work in an order that satisfies their dependencies; the steps of a child graph follow
  /// its node. nullopt for an invalid handle or a graph with a cycle.
  std::optional<std::vector<GraphStep>> steps_of(cudaGraph_t graph);
  /// Destroys all graphs of a device that is reset.
  void destroy_all(int device);

 private:
  GraphNode* find_node(cudaGraphNode_t handle);
  /// Returns the graph that contains the node, or null.
  std::shared_ptr<Graph> graph_with(cudaGraphNode_t handle);
  static std::shared_ptr<Graph> copy_of(const Graph& graph);

  std::mutex mutex_;
  std::map<cudaGraph_t, std::shared_ptr<Graph>> graphs_;
};

/// Returns the process's graphs. Never destroyed.
Graphs& graphs();

}  // namespace lynxpp::device::cpu
