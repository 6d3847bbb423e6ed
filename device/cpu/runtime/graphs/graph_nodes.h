// Graph nodes made by the calls that would enqueue their work, for the runtime API and the driver API.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "device/cpu/runtime/graphs/graph.h"

namespace lynxpp::device::cpu {

/// Adds a node for the work that `call` would enqueue, or sets an executable node's work to it. The program
/// can query `parameters`. Errors: those of `call`, which rejects invalid work, of Graphs and of
/// ExecutableGraphs.
cudaError_t add_graph_node(cudaGraphNode_t* added, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                           std::size_t count, cudaGraphNodeType type,
                           const std::function<cudaError_t()>& call, const NodeParameters& parameters = {});
cudaError_t set_graph_node(cudaGraphExec_t executable, cudaGraphNode_t node, cudaGraphNodeType type,
                           const std::function<cudaError_t()>& call);
/// Same for a node of a graph.
cudaError_t set_graph_node(cudaGraphNode_t node, cudaGraphNodeType type,
                           const std::function<cudaError_t()>& call, const NodeParameters& parameters = {});
/// Launch attributes, which are not part of a node's parameters.
struct KeptAttributes {
  bool cooperative = false;
  std::uint32_t cluster[3] = {0, 0, 0};  ///< same as in Launch
};
/// Returns the attributes that a node keeps when its parameters become those of a launch of `kernel`.
KeptAttributes kept_attributes(cudaGraphNode_t node, const Kernel* kernel);
/// Makes the launch of a kernel node; `changed` is the node whose attributes remain, or null.
cudaError_t launch_of_node(const cudaKernelNodeParams* parameters, cudaGraphNode_t changed);
/// Returns a one-dimensional copy in the form in which the program can query it.
cudaMemcpy3DParms linear_copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
/// Returns the work of an event node.
Work event_work(std::shared_ptr<Event> event, cudaEvent_t handle, cudaGraphNodeType type);
/// Adds a node that is a copy of another graph.
cudaError_t add_child_graph(cudaGraphNode_t* added, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                            std::size_t count, cudaGraph_t child);
/// True if the edges are plain dependencies on whole nodes.
bool plain_edges(const cudaGraphEdgeData* edges, std::size_t count);

}  // namespace lynxpp::device::cpu
