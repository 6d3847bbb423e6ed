#include "device/cpu/runtime/graphs/graph_nodes.h"

#include <algorithm>
#include <utility>

#include "device/cpu/runtime/graphs/executable_graphs.h"
#include "device/cpu/runtime/graphs/graphs.h"
#include "device/cpu/runtime/streams.h"

namespace lynxpp::device::cpu {

namespace {

cudaError_t work_made_by(const std::function<cudaError_t()>& call, cudaGraphNodeType type,
                         const NodeParameters& parameters, Work& work) {
  RecordedWork recorded;
  if (const cudaError_t error = call(); error != cudaSuccess) return error;
  work = recorded.take();
  work.type = type;
  if (parameters.index() != 0) work.parameters = parameters;
  return cudaSuccess;
}

}  // namespace

KeptAttributes kept_attributes(cudaGraphNode_t node, const Kernel* kernel) {
  KeptAttributes kept;
  const auto before = graphs().kernel_of(node);
  if (before == nullptr) return kept;
  kept.cooperative = before->cooperative;
  // The cluster may be one that the kernel requires.
  if (before->kernel == kernel) std::ranges::copy(before->cluster, kept.cluster);
  return kept;
}

cudaError_t add_graph_node(cudaGraphNode_t* added, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                           std::size_t count, cudaGraphNodeType type,
                           const std::function<cudaError_t()>& call, const NodeParameters& parameters) {
  GraphNode node;
  if (const cudaError_t error = work_made_by(call, type, parameters, node.work); error != cudaSuccess)
    return error;
  return graphs().add(graph, dependencies, count, std::move(node), added);
}

cudaError_t set_graph_node(cudaGraphExec_t executable, cudaGraphNode_t node, cudaGraphNodeType type,
                           const std::function<cudaError_t()>& call) {
  Work work;
  const cudaError_t error = work_made_by(call, type, {}, work);
  return error == cudaSuccess ? executable_graphs().set_work(executable, node, std::move(work)) : error;
}

cudaError_t set_graph_node(cudaGraphNode_t node, cudaGraphNodeType type,
                           const std::function<cudaError_t()>& call, const NodeParameters& parameters) {
  Work work;
  const cudaError_t error = work_made_by(call, type, parameters, work);
  return error == cudaSuccess ? graphs().set_work(node, std::move(work)) : error;
}

cudaMemcpy3DParms linear_copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  cudaMemcpy3DParms copy{};
  copy.srcPtr = {const_cast<void*>(from), bytes, bytes, 1};
  copy.dstPtr = {to, bytes, bytes, 1};
  copy.extent = {bytes, 1, 1};
  copy.kind = kind;
  return copy;
}

Work event_work(std::shared_ptr<Event> event, cudaEvent_t handle, cudaGraphNodeType type) {
  Work work;
  work.type = type;
  work.event = std::move(event);
  work.parameters = handle;
  return work;
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
