// Graph API of the runtime.
#include <algorithm>
#include <utility>

#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/graphs/executable_graphs.h"
#include "device/cpu/runtime/graphs/graph_nodes.h"
#include "device/cpu/runtime/graphs/graphs.h"
#include "device/cpu/runtime/launch.h"
#include "device/cpu/runtime/memory/copies.h"
#include "device/cpu/runtime/modules/registry.h"
#include "device/cpu/runtime/streams.h"

namespace lynxpp::device::cpu {

cudaError_t launch_of_node(const cudaKernelNodeParams* parameters, cudaGraphNode_t changed) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  Kernel* const kernel = registry().find_kernel(parameters->func);
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  Launch launch;
  if (changed != nullptr) {
    const KeptAttributes kept = kept_attributes(changed, kernel);
    launch.cooperative = kept.cooperative;
    std::ranges::copy(kept.cluster, launch.cluster);
  }
  const dim3& grid = parameters->gridDim;
  const dim3& block = parameters->blockDim;
  launch.grid[0] = grid.x;
  launch.grid[1] = grid.y;
  launch.grid[2] = grid.z;
  launch.block[0] = block.x;
  launch.block[1] = block.y;
  launch.block[2] = block.z;
  launch.shared_bytes = parameters->sharedMemBytes;
  launch.parameters = parameters->kernelParams;
  launch.extra = parameters->extra;
  return launch_kernel(*kernel, launch, Interception::none);
}

namespace api {
namespace {

/// Fills in default edge data: the device has no other edges.
cudaError_t store_plain_edges(cudaError_t error, cudaGraphEdgeData* edges, const size_t* count) {
  if (error == cudaSuccess && edges != nullptr) std::fill_n(edges, *count, cudaGraphEdgeData{});
  return error;
}

}  // namespace

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags) {
  if (graph == nullptr || flags != 0) return cudaErrorInvalidValue;
  *graph = graphs().create();
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return graphs().destroy(graph) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t count,
                                   const struct cudaKernelNodeParams* parameters) {
  return add_graph_node(node, graph, dependencies, count, cudaGraphNodeTypeKernel,
                        [&] { return launch_of_node(parameters, nullptr); });
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t count,
                                   const struct cudaMemcpy3DParms* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  return add_graph_node(
      node, graph, dependencies, count, cudaGraphNodeTypeMemcpy,
      [&] { return api::cudaMemcpy3DAsync(parameters, nullptr); }, *parameters);
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* dependencies, size_t count, void* to,
                                     const void* from, size_t bytes, enum cudaMemcpyKind kind) {
  return add_graph_node(
      node, graph, dependencies, count, cudaGraphNodeTypeMemcpy,
      [&] { return api::cudaMemcpyAsync(to, from, bytes, kind, nullptr); },
      linear_copy(to, from, bytes, kind));
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t count,
                                   const struct cudaMemsetParams* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  return add_graph_node(
      node, graph, dependencies, count, cudaGraphNodeTypeMemset,
      [&] { return fill_elements_of(*parameters); }, *parameters);
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                 const cudaGraphNode_t* dependencies, size_t count,
                                 const struct cudaHostNodeParams* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  return add_graph_node(node, graph, dependencies, count, cudaGraphNodeTypeHost, [&] {
    return api::cudaLaunchHostFunc(nullptr, parameters->fn, parameters->userData);
  });
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* dependencies, size_t count) {
  return graphs().add(graph, dependencies, count, {}, node);
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* dependencies, size_t count, cudaGraph_t child) {
  return add_child_graph(node, graph, dependencies, count, child);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, const cudaGraphEdgeData* edges,
                                     size_t count) {
  if (!plain_edges(edges, count)) return cudaErrorNotSupported;
  return graphs().add_dependencies(graph, from, to, count);
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                        const cudaGraphNode_t* to, const cudaGraphEdgeData*, size_t count) {
  return graphs().remove_dependencies(graph, from, to, count);
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes,
                                         cudaGraphEdgeData* edges, size_t* count) {
  return store_plain_edges(graphs().neighbours(node, Graphs::Neighbours::before, nodes, count), edges, count);
}
cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes,
                                           cudaGraphEdgeData* edges, size_t* count) {
  return store_plain_edges(graphs().neighbours(node, Graphs::Neighbours::after, nodes, count), edges, count);
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) { return graphs().destroy_node(node); }

cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
  if (clone == nullptr) return cudaErrorInvalidValue;
  std::shared_ptr<Graph> made;
  if (const cudaError_t error = graphs().copy(graph, made); error != cudaSuccess) return error;
  *clone = graphs().enter(std::move(made));
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return graphs().list(graph, false, nodes, count);
}
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return graphs().list(graph, true, nodes, count);
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType* type) {
  return graphs().type_of(node, type);
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t* graph) {
  return graphs().child_of(node, graph);
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams* parameters) {
  const auto call = graphs().kernel_of(node);
  if (call == nullptr || parameters == nullptr) return cudaErrorInvalidValue;
  *parameters = {};
  const void* const host_function = call->kernel->host_function;
  parameters->func = host_function != nullptr ? const_cast<void*>(host_function) : call->kernel;
  parameters->gridDim = {call->grid[0], call->grid[1], call->grid[2]};
  parameters->blockDim = {call->block[0], call->block[1], call->block[2]};
  parameters->sharedMemBytes = call->shared_bytes;
  parameters->kernelParams = const_cast<void**>(call->parameters.data());
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long flags) {
  if ((flags & cudaGraphInstantiateFlagDeviceLaunch) != 0) return cudaErrorNotSupported;
  return executable_graphs().instantiate(graph, made, flags);
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* made, cudaGraph_t graph,
                                          unsigned long long flags) {
  if ((flags & cudaGraphInstantiateFlagDeviceLaunch) != 0) return cudaErrorNotSupported;
  return executable_graphs().instantiate(graph, made, flags);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return executable_graphs().destroy(executable) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* result) {
  const cudaError_t error = executable_graphs().update(executable, graph);
  if (result != nullptr) {
    *result = {};
    result->result = error == cudaSuccess                       ? cudaGraphExecUpdateSuccess
                     : error == cudaErrorGraphExecUpdateFailure ? cudaGraphExecUpdateErrorTopologyChanged
                                                                : cudaGraphExecUpdateError;
  }
  return error;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return executable_graphs().launch(executable, stream);
}

// The device needs no upload.
cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
  if (!executable_graphs().is_executable(executable)) return cudaErrorInvalidValue;
  return streams().admit(stream);
}

}  // namespace api
}  // namespace lynxpp::device::cpu
