// Graph nodes made by the calls that would enqueue their work, for the runtime API and the driver API.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>

namespace lynxpp::device::cpu {

/// Adds a node for the work that `call` would enqueue, or sets an executable node's work to it. Errors: those
/// of `call`, which rejects invalid work, of Graphs and of ExecutableGraphs.
cudaError_t add_graph_node(cudaGraphNode_t* added, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                           std::size_t count, cudaGraphNodeType type,
                           const std::function<cudaError_t()>& call);
cudaError_t set_graph_node(cudaGraphExec_t executable, cudaGraphNode_t node, cudaGraphNodeType type,
                           const std::function<cudaError_t()>& call);
/// Same for a node of a graph.
cudaError_t set_graph_node(cudaGraphNode_t node, cudaGraphNodeType type,
                           const std::function<cudaError_t()>& call);
/// Adds a node that is a copy of another graph.
cudaError_t add_child_graph(cudaGraphNode_t* added, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                            std::size_t count, cudaGraph_t child);
/// True if the edges are plain dependencies on whole nodes.
bool plain_edges(const cudaGraphEdgeData* edges, std::size_t count);

}  // namespace lynxpp::device::cpu
