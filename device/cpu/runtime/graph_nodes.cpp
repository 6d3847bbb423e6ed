#include "device/cpu/runtime/graph_nodes.h"

#include <algorithm>
#include <utility>

#include "device/cpu/runtime/executable_graphs.h"
#include "device/cpu/runtime/graphs.h"
#include "device/cpu/runtime/streams.h"

namespace lynxpp::device::cpu {

cudaError_t add_graph_node(cudaGraphNode_t* added, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                           std::size_t count, cudaGraphNodeType type,
                           const std::function<cudaError_t()>& call) {
  GraphNode node;
  RecordedWork recorded;
  if (const cudaError_t error = call(); error != cudaSuccess) return error;
  node.work = recorded.take();
  node.work.type = type;
  return graphs().add(graph, dependencies, count, std::move(node), added);
}

cudaError_t set_graph_node(cudaGraphExec_t executable, cudaGraphNode_t node, cudaGraphNodeType type,
                           const std::function<cudaError_t()>& call) {
  RecordedWork recorded;
  if (const cudaError_t error = call(); error != cudaSuccess) return error;
  Work work = recorded.take();
  work.type = type;
  return executable_graphs().set_work(executable, node, std::move(work));
}

cudaError_t set_graph_node(cudaGraphNode_t node, cudaGraphNodeType type,
                           const std::function<cudaError_t()>& call) {
  RecordedWork recorded;
  if (const cudaError_t error = call(); error != cudaSuccess) return error;
  Work work = recorded.take();
  work.type = type;
  return graphs().set_work(node, std::move(work));
}

cudaError_t add_child_graph(cudaGraphNode_t* added, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                            std::size_t count, cudaGraph_t child) {
  GraphNode node;
  node.work.type = cudaGraphNodeTypeGraph;
  if (const cudaError_t error = graphs().copy(child, node.child); error != cudaSuccess) return error;
  return graphs().add(graph, dependencies, count, std::move(node), added);
}

bool plain_edges(const cudaGraphEdgeData* edges, std::size_t count) {
  return edges == nullptr || std::all_of(edges, edges + count, [](const cudaGraphEdgeData& each) {
           return each.from_port == 0 && each.to_port == 0 && each.type == 0;
         });
}

}  // namespace lynxpp::device::cpu
