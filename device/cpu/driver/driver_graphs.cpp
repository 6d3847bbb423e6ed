// Graphs and captures. Nodes, their types and their fills are the runtime's.
#include "device/cpu/driver/api.h"
#include "device/cpu/driver/contexts.h"
#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/graphs.h"

namespace lynxpp::device::cpu::driver_api {
namespace {

/// For add_graph_node(): what a call of the driver says, as the runtime's error.
cudaError_t error_of_call(CUresult result) { return static_cast<cudaError_t>(result); }

cudaError_t launch_of_node(const CUDA_KERNEL_NODE_PARAMS* node) {
  if (node == nullptr) return cudaErrorInvalidValue;
  CUfunction const function = node->func != nullptr ? node->func : reinterpret_cast<CUfunction>(node->kern);
  return error_of_call(driver_api::cuLaunchKernel(
      function, node->gridDimX, node->gridDimY, node->gridDimZ, node->blockDimX, node->blockDimY,
      node->blockDimZ, node->sharedMemBytes, nullptr, node->kernelParams, node->extra));
}

/// Both versions of the structure begin alike.
template <typename Parameters>
CUresult give_kernel(CUgraphNode node, Parameters* parameters) {
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
  return result_of(add_graph_node(node, graph, dependencies, count, cudaGraphNodeTypeMemcpy, [&] {
    return error_of_call(driver_api::cuMemcpy3DAsync_v2(copy, nullptr));
  }));
}

CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* fill, CUcontext context) {
  if (fill == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (contexts().find(context) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const cudaMemsetParams same{reinterpret_cast<void*>(fill->dst),
                              fill->pitch,
                              fill->value,
                              fill->elementSize,
                              fill->width,
                              fill->height};
  return result_of(add_graph_node(node, graph, dependencies, count, cudaGraphNodeTypeMemset,
                                  [&] { return fill_elements_of(same); }));
}

CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                            const CUDA_HOST_NODE_PARAMS* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return result_of(add_graph_node(node, graph, dependencies, count, cudaGraphNodeTypeHost, [&] {
    return api::cudaLaunchHostFunc(nullptr, parameters->fn, parameters->userData);
  }));
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
  return give_kernel(node, parameters);
}
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* parameters) {
  return give_kernel(node, parameters);
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* made, CUgraph graph, unsigned long long flags) {
  return result_of(api::cudaGraphInstantiateWithFlags(made, graph, flags));
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
  return result_of(
      set_graph_node(executable, node, cudaGraphNodeTypeKernel, [&] { return launch_of_node(parameters); }));
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  return result_of(graphs().launch(executable, stream));
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
