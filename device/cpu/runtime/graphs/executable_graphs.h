// Executable graphs of the runtime API and the driver API. A launch enqueues the nodes' work in a stream, in
// an order that satisfies their dependencies.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "device/cpu/runtime/graphs/graph.h"
#include "device/cpu/runtime/stream.h"

namespace lynxpp::device::cpu {

/// The work of a graph's nodes at instantiation, in order of execution.
struct ExecutableGraph {
  int device = 0;                ///< current at instantiation
  unsigned long long flags = 0;  ///< of the instantiation
  std::vector<GraphStep> steps;  ///< guarded by ExecutableGraphs
  std::mutex launching;          ///< held while a launch is enqueued; guards the member below
  OperationPtr last;             ///< last operation of the previous launch; null if that is over
  bool frees_before = false;     ///< true if a launch frees memory that an earlier one left allocated
};

/// Thread safe. Handles are opaque to the program, and every function validates its handles.
class ExecutableGraphs {
 public:
  /// `flags`: cudaGraphInstantiateFlags. Errors: cudaErrorInvalidValue for a graph with a cycle.
  cudaError_t instantiate(cudaGraph_t graph, cudaGraphExec_t* made, unsigned long long flags);
  bool destroy(cudaGraphExec_t handle);
  /// Launches after all work in the stream and after the previous launch, in any stream. Errors:
  /// cudaErrorInvalidValue if memory that an earlier launch allocated was not freed.
  cudaError_t launch(cudaGraphExec_t handle, cudaStream_t stream);
  bool is_executable(cudaGraphExec_t handle);
  cudaError_t flags_of(cudaGraphExec_t handle, unsigned long long* flags);
  /// Replaces all work by that of a graph of the same shape. Errors: cudaErrorGraphExecUpdateFailure.
  cudaError_t update(cudaGraphExec_t handle, cudaGraph_t graph);
  /// Changes one node. Errors: cudaErrorInvalidValue if the node is not part of the graph or has another
  /// type.
  cudaError_t set_work(cudaGraphExec_t handle, cudaGraphNode_t node, Work work);
  /// Replaces the work of a child graph by that of a graph of the same shape. Errors: cudaErrorInvalidValue,
  /// cudaErrorGraphExecUpdateFailure.
  cudaError_t set_child(cudaGraphExec_t handle, cudaGraphNode_t node, cudaGraph_t graph);
  /// Enables or disables a kernel, copy or fill. Errors: cudaErrorInvalidValue for any other node.
  cudaError_t enable(cudaGraphExec_t handle, cudaGraphNode_t node, bool is_enabled);
  cudaError_t is_enabled(cudaGraphExec_t handle, cudaGraphNode_t node, bool* is_enabled);
  /// Destroys all executable graphs of a device that is reset.
  void destroy_all(int device);

 private:
  std::shared_ptr<ExecutableGraph> find(cudaGraphExec_t handle);

  std::mutex mutex_;
  std::map<cudaGraphExec_t, std::shared_ptr<ExecutableGraph>> executables_;
};

/// Returns the process's executable graphs. Never destroyed.
ExecutableGraphs& executable_graphs();

}  // namespace lynxpp::device::cpu
