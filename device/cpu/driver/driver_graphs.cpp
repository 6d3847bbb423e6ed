// Graphs and captures. Nodes, their types and their fills use the runtime's types.
#include <algorithm>

#include "device/cpu/driver/api.h"
#include "device/cpu/driver/contexts.h"
#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/devices.h"
#include "device/cpu/runtime/graphs/executable_graphs.h"
#include "device/cpu/runtime/graphs/graph_memory.h"
#include "device/cpu/runtime/graphs/graph_nodes.h"
#include "device/cpu/runtime/graphs/graphs.h"
#include "device/cpu/runtime/memory/copies.h"
#include "device/cpu/runtime/modules/registry.h"

namespace lynxpp::device::cpu::driver_api {
namespace {

/// Converts a driver call's result to the runtime's error, for add_graph_node().
cudaError_t error_of_call(CUresult result) { return static_cast<cudaError_t>(result); }

/// `changed`: the node whose launch attributes remain, or null.
cudaError_t launch_of_node(const CUDA_KERNEL_NODE_PARAMS* node, CUgraphNode changed = nullptr) {
  if (node == nullptr) return cudaErrorInvalidValue;
  CUfunction const function = node->func != nullptr ? node->func : reinterpret_cast<CUfunction>(node->kern);
  // Nodes of one graph may run on several devices.
  const Kernel* const kernel = registry().find_kernel(function);
  const DeviceScope scope(kernel != nullptr ? kernel->device.value_or(current_device()) : current_device());
  const KeptAttributes kept = changed != nullptr ? kept_attributes(changed, kernel) : KeptAttributes{};
  CUlaunchAttribute attributes[2] = {};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attributes[0].value.cooperative = kept.cooperative ? 1 : 0;
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attributes[1].value.clusterDim = {kept.cluster[0], kept.cluster[1], kept.cluster[2]};
  CUlaunchConfig config{};
  config.gridDimX = node->gridDimX;
  config.gridDimY = node->gridDimY;
  config.gridDimZ = node->gridDimZ;
  config.blockDimX = node->blockDimX;
  config.blockDimY = node->blockDimY;
  config.blockDimZ = node->blockDimZ;
  config.sharedMemBytes = node->sharedMemBytes;
  config.attrs = attributes;
  config.numAttrs = kept.cluster[0] != 0 ? 2 : 1;
  return error_of_call(driver_api::cuLaunchKernelEx(&config, function, node->kernelParams, node->extra));
}

cudaMemsetParams same_fill(const CUDA_MEMSET_NODE_PARAMS& fill) {
  return {
      reinterpret_cast<void*>(fill.dst), fill.pitch, fill.value, fill.elementSize, fill.width, fill.height};
}

cudaError_t fill_of_node(const CUDA_MEMSET_NODE_PARAMS* fill) {
  return fill != nullptr ? fill_elements_of(same_fill(*fill)) : cudaErrorInvalidValue;
}

NodeParameters parameters_of(const CUDA_MEMSET_NODE_PARAMS* fill) {
  return fill != nullptr ? NodeParameters(same_fill(*fill)) : NodeParameters();
}

cudaError_t copy_of_node(const CUDA_MEMCPY3D* copy) {
  return error_of_call(driver_api::cuMemcpy3DAsync_v2(copy, nullptr));
}

cudaError_t call_of_node(const CUDA_HOST_NODE_PARAMS* call) {
  return call != nullptr ? api::cudaLaunchHostFunc(nullptr, call->fn, call->userData) : cudaErrorInvalidValue;
}

/// Fills in default edge data: the device has no other edges.
CUresult store_plain_edges(CUresult result, CUgraphEdgeData* edges, const size_t* count) {
  if (result == CUDA_SUCCESS && edges != nullptr) std::fill_n(edges, *count, CUgraphEdgeData{});
  return result;
}

/// Both versions of the structure start with the same members.
template <typename Parameters>
CUresult store_kernel(CUgraphNode node, Parameters* parameters) {
  const auto call = graphs().kernel_of(node);
  if (call == nullptr || parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *parameters = {};
  parameters->func = reinterpret_cast<CUfunction>(call->kernel);
  parameters->gridDimX = call->grid[0];
  parameters->gridDimY = call->grid[1];
  parameters->gridDimZ = call->grid[2];
  parameters->blockDimX = call->block[0];
  parameters->blockDimY = call->block[1];
  parameters->blockDimZ = call->block[2];
  parameters->sharedMemBytes = call->shared_bytes;
  parameters->kernelParams = const_cast<void**>(call->parameters.data());
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuGraphCreate(CUgraph* graph, unsigned int flags) {
  return result_of(api::cudaGraphCreate(graph, flags));
}
CUresult cuGraphDestroy(CUgraph graph) { return result_of(api::cudaGraphDestroy(graph)); }

CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                 size_t count, const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return result_of(add_graph_node(node, graph, dependencies, count, cudaGraphNodeTypeKernel,
                                  [&] { return launch_of_node(parameters); }));
}

CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_MEMCPY3D* copy, CUcontext context) {
  if (contexts().find(context) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return result_of(add_graph_node(node, graph, dependencies, count, cudaGraphNodeTypeMemcpy,
                                  [&] { return copy_of_node(copy); }));
}

CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* fill, CUcontext context) {
  if (contexts().find(context) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return result_of(add_graph_node(
      node, graph, dependencies, count, cudaGraphNodeTypeMemset, [&] { return fill_of_node(fill); },
      parameters_of(fill)));
}

CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                size_t count, CUDA_MEM_ALLOC_NODE_PARAMS* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaMemAllocNodeParams same{};
  same.poolProps.allocType = static_cast<cudaMemAllocationType>(parameters->poolProps.allocType);
  same.poolProps.handleTypes = static_cast<cudaMemAllocationHandleType>(parameters->poolProps.handleTypes);
  same.poolProps.location.type = static_cast<cudaMemLocationType>(parameters->poolProps.location.type);
  same.poolProps.location.id = parameters->poolProps.location.id;
  same.bytesize = parameters->bytesize;
  const cudaError_t error = api::cudaGraphAddMemAllocNode(node, graph, dependencies, count, &same);
  if (error == cudaSuccess) parameters->dptr = reinterpret_cast<CUdeviceptr>(same.dptr);
  return result_of(error);
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* parameters) {
  const auto memory = graphs().memory_of(node, true);
  if (memory == nullptr || parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *parameters = {};
  parameters->poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  parameters->poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  parameters->poolProps.location.id = memory->device;
  parameters->bytesize = memory->bytes;
  parameters->dptr = memory->address();
  return CUDA_SUCCESS;
}

CUresult cuGraphAddMemFreeNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                               size_t count, CUdeviceptr address) {
  return result_of(
      api::cudaGraphAddMemFreeNode(node, graph, dependencies, count, reinterpret_cast<void*>(address)));
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr* address) {
  const auto memory = graphs().memory_of(node, false);
  if (memory == nullptr || address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *address = memory->address();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGraphMemTrim(CUdevice device) { return result_of(api::cudaDeviceGraphMemTrim(device)); }
CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) {
  return result_of(
      api::cudaDeviceGetGraphMemAttribute(device, static_cast<cudaGraphMemAttributeType>(attribute), value));
}
CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) {
  return result_of(
      api::cudaDeviceSetGraphMemAttribute(device, static_cast<cudaGraphMemAttributeType>(attribute), value));
}

CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                            const CUDA_HOST_NODE_PARAMS* parameters) {
  return result_of(add_graph_node(node, graph, dependencies, count, cudaGraphNodeTypeHost,
                                  [&] { return call_of_node(parameters); }));
}

CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                             size_t count) {
  return result_of(graphs().add(graph, dependencies, count, {}, node));
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                  size_t count, CUgraph child) {
  return result_of(add_child_graph(node, graph, dependencies, count, child));
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  return result_of(graphs().add_dependencies(graph, from, to, count));
}
CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData* edges, size_t count) {
  if (!plain_edges(reinterpret_cast<const cudaGraphEdgeData*>(edges), count)) return CUDA_ERROR_NOT_SUPPORTED;
  return result_of(graphs().add_dependencies(graph, from, to, count));
}

CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   size_t count) {
  return result_of(graphs().remove_dependencies(graph, from, to, count));
}
CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                      const CUgraphEdgeData*, size_t count) {
  return result_of(graphs().remove_dependencies(graph, from, to, count));
}
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* nodes, size_t* count) {
  return result_of(graphs().neighbours(node, Graphs::Neighbours::before, nodes, count));
}
CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* edges,
                                       size_t* count) {
  return store_plain_edges(driver_api::cuGraphNodeGetDependencies(node, nodes, count), edges, count);
}
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* nodes, size_t* count) {
  return result_of(graphs().neighbours(node, Graphs::Neighbours::after, nodes, count));
}
CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* edges,
                                         size_t* count) {
  return store_plain_edges(driver_api::cuGraphNodeGetDependentNodes(node, nodes, count), edges, count);
}
CUresult cuGraphDestroyNode(CUgraphNode node) { return result_of(graphs().destroy_node(node)); }

CUresult cuGraphClone(CUgraph* clone, CUgraph graph) { return result_of(api::cudaGraphClone(clone, graph)); }
CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return result_of(graphs().list(graph, false, nodes, count));
}
CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return result_of(graphs().list(graph, true, nodes, count));
}
CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  return result_of(graphs().type_of(node, reinterpret_cast<cudaGraphNodeType*>(type)));
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
  return result_of(graphs().child_of(node, graph));
}
CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
  return store_kernel(node, parameters);
}
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* parameters) {
  return store_kernel(node, parameters);
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return result_of(
      set_graph_node(node, cudaGraphNodeTypeKernel, [&] { return launch_of_node(parameters, node); }));
}
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* copy) {
  return result_of(set_graph_node(node, cudaGraphNodeTypeMemcpy, [&] { return copy_of_node(copy); }));
}
CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* fill) {
  return result_of(set_graph_node(
      node, cudaGraphNodeTypeMemset, [&] { return fill_of_node(fill); }, parameters_of(fill)));
}
CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* call) {
  return result_of(set_graph_node(node, cudaGraphNodeTypeHost, [&] { return call_of_node(call); }));
}

/// Kernel nodes keep cooperative launch and the cluster's dimensions.
CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
                                       CUkernelNodeAttrValue* value) {
  const auto call = graphs().kernel_of(node);
  if (value == nullptr || call == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *value = {};
  if (attribute == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) value->cooperative = call->cooperative ? 1 : 0;
  if (attribute == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
    value->clusterDim = {call->cluster[0], call->cluster[1], call->cluster[2]};
  return CUDA_SUCCESS;
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* parameters) {
  cudaMemsetParams same{};
  const cudaError_t error = api::cudaGraphMemsetNodeGetParams(node, parameters != nullptr ? &same : nullptr);
  if (error != cudaSuccess) return result_of(error);
  *parameters = {};
  parameters->dst = reinterpret_cast<CUdeviceptr>(same.dst);
  parameters->pitch = same.pitch;
  parameters->value = same.value;
  parameters->elementSize = same.elementSize;
  parameters->width = same.width;
  parameters->height = same.height;
  return CUDA_SUCCESS;
}
CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* parameters) {
  cudaHostNodeParams same{};
  const cudaError_t error = api::cudaGraphHostNodeGetParams(node, parameters != nullptr ? &same : nullptr);
  if (error != cudaSuccess) return result_of(error);
  *parameters = {};
  parameters->fn = same.fn;
  parameters->userData = same.userData;
  return CUDA_SUCCESS;
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                   size_t count, CUevent event) {
  return result_of(api::cudaGraphAddEventRecordNode(node, graph, dependencies, count, event));
}
CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                 size_t count, CUevent event) {
  return result_of(api::cudaGraphAddEventWaitNode(node, graph, dependencies, count, event));
}
CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* event) {
  return result_of(api::cudaGraphEventRecordNodeGetEvent(node, event));
}
CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* event) {
  return result_of(api::cudaGraphEventWaitNodeGetEvent(node, event));
}
CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  return result_of(api::cudaGraphEventRecordNodeSetEvent(node, event));
}
CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  return result_of(api::cudaGraphEventWaitNodeSetEvent(node, event));
}
CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec executable, CUgraphNode node, CUevent event) {
  return result_of(api::cudaGraphExecEventRecordNodeSetEvent(executable, node, event));
}
CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec executable, CUgraphNode node, CUevent event) {
  return result_of(api::cudaGraphExecEventWaitNodeSetEvent(executable, node, event));
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count) {
  return result_of(graphs().edges(graph, from, to, count));
}
CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* edges,
                            size_t* count) {
  return result_of(
      api::cudaGraphGetEdges(graph, from, to, reinterpret_cast<cudaGraphEdgeData*>(edges), count));
}
CUresult cuGraphExecGetFlags(CUgraphExec executable, cuuint64_t* flags) {
  unsigned long long found = 0;
  const cudaError_t error = executable_graphs().flags_of(executable, flags != nullptr ? &found : nullptr);
  if (error == cudaSuccess) *flags = found;
  return result_of(error);
}
CUresult cuGraphDebugDotPrint(CUgraph graph, const char* path, unsigned int flags) {
  return result_of(api::cudaGraphDebugDotPrint(graph, path, flags));
}

CUresult cuGraphNodeFindInClone(CUgraphNode* found, CUgraphNode node, CUgraph clone) {
  return result_of(graphs().find_in_clone(node, clone, found));
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* made, CUgraph graph, unsigned long long flags) {
  return result_of(api::cudaGraphInstantiateWithFlags(made, graph, flags));
}
CUresult cuGraphInstantiateWithParams(CUgraphExec* made, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = result_of(api::cudaGraphInstantiateWithFlags(made, graph, parameters->flags));
  parameters->hErrNode_out = nullptr;
  parameters->result_out =
      result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
  return result;
}
CUresult cuGraphExecDestroy(CUgraphExec executable) {
  return result_of(api::cudaGraphExecDestroy(executable));
}

CUresult cuGraphExecUpdate_v2(CUgraphExec executable, CUgraph graph, CUgraphExecUpdateResultInfo* result) {
  cudaGraphExecUpdateResultInfo same{};
  const cudaError_t error = api::cudaGraphExecUpdate(executable, graph, &same);
  if (result != nullptr) {
    *result = {};
    result->result = static_cast<CUgraphExecUpdateResult>(same.result);
  }
  return result_of(error);
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec executable, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return result_of(set_graph_node(executable, node, cudaGraphNodeTypeKernel,
                                  [&] { return launch_of_node(parameters, node); }));
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec executable, CUgraphNode node, const CUDA_MEMCPY3D* copy,
                                        CUcontext) {
  return result_of(
      set_graph_node(executable, node, cudaGraphNodeTypeMemcpy, [&] { return copy_of_node(copy); }));
}
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec executable, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS* fill, CUcontext) {
  return result_of(
      set_graph_node(executable, node, cudaGraphNodeTypeMemset, [&] { return fill_of_node(fill); }));
}
CUresult cuGraphExecHostNodeSetParams(CUgraphExec executable, CUgraphNode node,
                                      const CUDA_HOST_NODE_PARAMS* call) {
  return result_of(
      set_graph_node(executable, node, cudaGraphNodeTypeHost, [&] { return call_of_node(call); }));
}
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec executable, CUgraphNode node, CUgraph child) {
  return result_of(executable_graphs().set_child(executable, node, child));
}

CUresult cuGraphNodeSetEnabled(CUgraphExec executable, CUgraphNode node, unsigned int is_enabled) {
  return result_of(executable_graphs().enable(executable, node, is_enabled != 0));
}
CUresult cuGraphNodeGetEnabled(CUgraphExec executable, CUgraphNode node, unsigned int* is_enabled) {
  bool found = false;
  const cudaError_t error = executable_graphs().is_enabled(executable, node, &found);
  if (error == cudaSuccess && is_enabled != nullptr) *is_enabled = found ? 1 : 0;
  return result_of(error);
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  return result_of(executable_graphs().launch(executable, stream));
}
CUresult cuGraphUpload(CUgraphExec executable, CUstream stream) {
  return result_of(api::cudaGraphUpload(executable, stream));
}

// ---------------------------------------------------------------- captures

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return result_of(api::cudaStreamBeginCapture(stream, static_cast<cudaStreamCaptureMode>(mode)));
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return result_of(api::cudaStreamEndCapture(stream, graph));
}
CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** nodes, const CUgraphEdgeData** edges,
                                   size_t* count) {
  unsigned long long number = 0;
  const cudaError_t error =
      api::cudaStreamGetCaptureInfo(stream, reinterpret_cast<cudaStreamCaptureStatus*>(status), &number,
                                    graph, nodes, reinterpret_cast<const cudaGraphEdgeData**>(edges), count);
  if (id != nullptr) *id = number;
  return result_of(error);
}

}  // namespace lynxpp::device::cpu::driver_api
