// Graphs: nodes of work and what each waits for, built by calls or captured from streams, for the APIs of
// runtime and driver. A launch puts the nodes into a stream one after the other, in an order that their
// dependencies allow.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "device/cpu/runtime/registry.h"
#include "device/cpu/runtime/streams.h"

namespace lynxpp::device::cpu {

struct Graph;

/// What a kernel node launches, as the program may ask for it. Cannot be copied: it points into itself.
struct KernelCall {
  KernelCall() = default;
  KernelCall(const KernelCall&) = delete;
  KernelCall& operator=(const KernelCall&) = delete;

  Kernel* kernel = nullptr;
  int device = 0;  ///< it runs on
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::uint32_t shared_bytes = 0;  ///< dynamic
  bool cooperative = false;
  std::uint32_t cluster[3] = {0, 0, 0};  ///< as of Launch
  std::vector<std::byte> buffer;         ///< of the parameters
  std::vector<void*> parameters;         ///< where each of them lies in `buffer`
};

struct GraphNode {
  Work work;
  std::shared_ptr<Graph> child;          ///< of a node that is a graph; a copy of its own
  std::vector<GraphNode*> dependencies;  ///< nodes of the same graph
  const GraphNode* origin = nullptr;     ///< what it is a copy of; compared only
};

/// Guarded by Graphs, as its nodes are.
struct Graph {
  int device = 0;                                 ///< that was current when it was made
  std::vector<std::unique_ptr<GraphNode>> nodes;  ///< in the order they were added
};

/// A graph that can be launched: the work of a graph's nodes as they were when it was made, in order.
struct ExecutableGraph {
  int device = 0;  ///< as of its graph
  struct Step {
    const GraphNode* node;  ///< of the graph it was made from; not to be followed
    Work work;
    bool is_enabled = true;
  };
  std::vector<Step> steps;
  std::mutex launching;       ///< held while a launch is enqueued; guards the members below
  OperationPtr last;          ///< of the last launch; null: it has finished
  bool frees_before = false;  ///< true if a launch frees what an earlier one left allocated
};

/// Thread safe. Handles are opaque to the program; each function checks those it is given.
class Graphs {
 public:
  cudaGraph_t create();
  /// Makes a graph known to the program.
  cudaGraph_t enter(std::shared_ptr<Graph> graph);
  bool destroy(cudaGraph_t handle);
  /// Those inside of other graphs, too.
  std::shared_ptr<Graph> find(cudaGraph_t handle);

  /// Errors: cudaErrorInvalidValue for a handle that is no graph, or a dependency that is no node of it.
  cudaError_t add(cudaGraph_t graph, const cudaGraphNode_t* dependencies, std::size_t count, GraphNode node,
                  cudaGraphNode_t* added);
  /// A node of a capture, whose handles are known to be good.
  GraphNode* add_captured(Graph& graph, const std::vector<GraphNode*>& dependencies, Work work);
  /// As above; also for a dependency that is there already or would be of a node on itself.
  cudaError_t add_dependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                               std::size_t count);
  /// Errors: cudaErrorInvalidValue if one is missing; then none is removed.
  cudaError_t remove_dependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                  std::size_t count);
  /// Nodes that the node waits for, or nodes that wait for it; stored as by list().
  enum class Neighbours { before, behind };
  cudaError_t neighbours(cudaGraphNode_t node, Neighbours which, cudaGraphNode_t* nodes, std::size_t* count);
  /// Removes a node and its dependencies from its graph.
  cudaError_t destroy_node(cudaGraphNode_t node);
  /// Copies a graph, for a child node or the program. Errors: cudaErrorNotSupported if the graph allocates
  /// memory.
  cudaError_t copy(cudaGraph_t graph, std::shared_ptr<Graph>& made);
  /// With `roots_only` those without dependencies. At most *count are stored, of which *count tells
  /// afterwards; without `nodes` how many there are.
  cudaError_t list(cudaGraph_t graph, bool roots_only, cudaGraphNode_t* nodes, std::size_t* count);
  cudaError_t type_of(cudaGraphNode_t node, cudaGraphNodeType* type);
  /// The launch of a kernel node; null for other nodes, and for what is none.
  std::shared_ptr<const KernelCall> kernel_of(cudaGraphNode_t node);
  /// The node of `clone` that was made from the node. Errors: cudaErrorInvalidValue when there is none.
  cudaError_t find_in_clone(cudaGraphNode_t node, cudaGraph_t clone, cudaGraphNode_t* found);
  /// Of a node that no executable graph shares. Errors: cudaErrorInvalidValue for one of another type.
  cudaError_t set_work(cudaGraphNode_t node, Work work);
  /// The graph that a node is, still the node's own. Errors: cudaErrorInvalidValue when it is none.
  cudaError_t child_of(cudaGraphNode_t node, cudaGraph_t* child);

  /// Returns the memory that the node allocates (`allocates`) or frees; null for other nodes.
  std::shared_ptr<const GraphMemory> memory_of(cudaGraphNode_t node, bool allocates);

  /// `flags`: cudaGraphInstantiateFlags. Errors: cudaErrorInvalidValue for a graph with a cycle.
  cudaError_t instantiate(cudaGraph_t graph, cudaGraphExec_t* made, unsigned long long flags);
  bool destroy(cudaGraphExec_t handle);
  /// Launches after all work in the stream and after the previous launch, in any stream. Errors:
  /// cudaErrorInvalidValue if memory that an earlier launch allocated was not freed.
  cudaError_t launch(cudaGraphExec_t handle, cudaStream_t stream);
  bool is_executable(cudaGraphExec_t handle);
  /// Takes over the work of a graph of the same shape. Errors: cudaErrorGraphExecUpdateFailure.
  cudaError_t update(cudaGraphExec_t handle, cudaGraph_t graph);
  /// Of one node. Errors: cudaErrorInvalidValue for a node that is not in it or of another type.
  cudaError_t set_work(cudaGraphExec_t handle, cudaGraphNode_t node, Work work);
  /// Of a node that is a graph: takes over the work of one of the same shape. Errors: cudaErrorInvalidValue,
  /// cudaErrorGraphExecUpdateFailure.
  cudaError_t set_child(cudaGraphExec_t handle, cudaGraphNode_t node, cudaGraph_t graph);
  /// Whether a kernel, a copy or a fill of it is done. Errors: cudaErrorInvalidValue for any other node.
  cudaError_t enable(cudaGraphExec_t handle, cudaGraphNode_t node, bool is_enabled);
  cudaError_t is_enabled(cudaGraphExec_t handle, cudaGraphNode_t node, bool* is_enabled);
  /// Of a device that is reset: there is none left.
  void destroy_all(int device);

 private:
  GraphNode* find_node(cudaGraphNode_t handle);
  /// Returns the graph that contains the node; null if there is none.
  std::shared_ptr<Graph> graph_with(cudaGraphNode_t handle);
  static std::shared_ptr<Graph> copy_of(const Graph& graph);
  static cudaError_t put(std::vector<ExecutableGraph::Step> steps, cudaStream_t stream, bool is_captured);
  static cudaError_t free_leftovers(const std::vector<ExecutableGraph::Step>& steps, cudaStream_t stream,
                                    bool frees_before);
  static bool append_steps(const Graph& graph, std::vector<ExecutableGraph::Step>& steps);
  std::shared_ptr<ExecutableGraph> find_executable(cudaGraphExec_t handle);
  static ExecutableGraph::Step* find_step(ExecutableGraph& executable, cudaGraphNode_t node);
  static bool take_over(std::span<ExecutableGraph::Step> into, std::vector<ExecutableGraph::Step>& from);

  std::mutex mutex_;
  std::map<cudaGraph_t, std::shared_ptr<Graph>> graphs_;
  std::map<cudaGraphExec_t, std::shared_ptr<ExecutableGraph>> executables_;
};

/// Adds a node whose work is what `call` would put into a stream, or gives an executable one that work.
/// Errors: those of `call`, which refuses what cannot be done, and of Graphs.
cudaError_t add_graph_node(cudaGraphNode_t* added, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                           std::size_t count, cudaGraphNodeType type,
                           const std::function<cudaError_t()>& call);
cudaError_t set_graph_node(cudaGraphExec_t executable, cudaGraphNode_t node, cudaGraphNodeType type,
                           const std::function<cudaError_t()>& call);
/// Of a node of a graph.
cudaError_t set_graph_node(cudaGraphNode_t node, cudaGraphNodeType type,
                           const std::function<cudaError_t()>& call);
/// A node that is a copy of another graph.
cudaError_t add_child_graph(cudaGraphNode_t* added, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                            std::size_t count, cudaGraph_t child);
/// Whether the edges say no more than that one node waits for all of the other.
bool plain_edges(const cudaGraphEdgeData* edges, std::size_t count);
/// The fill of a memset node, in the null stream.
cudaError_t fill_elements_of(const cudaMemsetParams& fill);

/// The process's graphs. Never destroyed.
Graphs& graphs();

}  // namespace lynxpp::device::cpu
