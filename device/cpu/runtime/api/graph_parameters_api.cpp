// Queries and changes of the nodes of graphs and executable graphs, for the runtime API.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/error.h"
#include "device/cpu/runtime/graphs/executable_graphs.h"
#include "device/cpu/runtime/graphs/graph_nodes.h"
#include "device/cpu/runtime/graphs/graphs.h"
#include "device/cpu/runtime/memory/copies.h"
#include "device/cpu/runtime/modules/symbols.h"
#include "device/cpu/runtime/streams.h"

namespace lynxpp::device::cpu::api {
namespace {

/// Stores what the node was given. Errors: cudaErrorInvalidValue for a node of another type,
/// cudaErrorNotSupported for a captured copy or fill, whose parameters the device does not keep.
template <typename Parameters>
cudaError_t query_node(cudaGraphNode_t node, cudaGraphNodeType type, Parameters* result,
                       const char* function) {
  const auto work = graphs().work_of(node, type);
  if (!work || result == nullptr) return cudaErrorInvalidValue;
  const auto* const found = std::get_if<Parameters>(&work->parameters);
  if (found == nullptr) {
    static std::atomic<bool> named{false};
    log_unsupported((std::string(function) + " for captured copies and fills").c_str(), named);
    return cudaErrorNotSupported;
  }
  *result = *found;
  return cudaSuccess;
}

/// Changes the event of a node, of an executable graph if there is one.
cudaError_t set_node_event(cudaGraphExec_t executable, cudaGraphNode_t node, cudaGraphNodeType type,
                           cudaEvent_t handle) {
  auto event = streams().find_event(handle);
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
  Work work = event_work(std::move(event), handle, type);
  return executable != nullptr ? executable_graphs().set_work(executable, node, std::move(work))
                               : graphs().set_work(node, std::move(work));
}

cudaError_t add_event_node(cudaGraphNode_t* added, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                           size_t count, cudaGraphNodeType type, cudaEvent_t handle) {
  auto event = streams().find_event(handle);
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
  GraphNode node;
  node.work = event_work(std::move(event), handle, type);
  return graphs().add(graph, dependencies, count, std::move(node), added);
}

const char* node_type_name(cudaGraphNodeType type) {
  switch (type) {
    case cudaGraphNodeTypeKernel: return "kernel";
    case cudaGraphNodeTypeMemcpy: return "memcpy";
    case cudaGraphNodeTypeMemset: return "memset";
    case cudaGraphNodeTypeHost: return "host";
    case cudaGraphNodeTypeGraph: return "graph";
    case cudaGraphNodeTypeWaitEvent: return "event wait";
    case cudaGraphNodeTypeEventRecord: return "event record";
    case cudaGraphNodeTypeMemAlloc: return "mem alloc";
    case cudaGraphNodeTypeMemFree: return "mem free";
    default: return "empty";
  }
}

}  // namespace

// ---------------------------------------------------------------- kernels

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                         const struct cudaKernelNodeParams* parameters) {
  return set_graph_node(node, cudaGraphNodeTypeKernel, [&] { return launch_of_node(parameters, node); });
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const struct cudaKernelNodeParams* parameters) {
  return set_graph_node(executable, node, cudaGraphNodeTypeKernel,
                        [&] { return launch_of_node(parameters, node); });
}

cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
                                            cudaLaunchAttributeValue* value) {
  const auto call = graphs().kernel_of(node);
  if (value == nullptr || call == nullptr) return cudaErrorInvalidValue;
  *value = {};
  if (attribute == cudaLaunchAttributeCooperative) value->cooperative = call->cooperative ? 1 : 0;
  if (attribute == cudaLaunchAttributeClusterDimension)
    value->clusterDim = {call->cluster[0], call->cluster[1], call->cluster[2]};
  return cudaSuccess;
}

// ---------------------------------------------------------------- copies

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms* parameters) {
  return query_node(node, cudaGraphNodeTypeMemcpy, parameters, "cudaGraphMemcpyNodeGetParams");
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const struct cudaMemcpy3DParms* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  return set_graph_node(
      node, cudaGraphNodeTypeMemcpy, [&] { return api::cudaMemcpy3DAsync(parameters, nullptr); },
      *parameters);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const struct cudaMemcpy3DParms* parameters) {
  return set_graph_node(executable, node, cudaGraphNodeTypeMemcpy,
                        [&] { return api::cudaMemcpy3DAsync(parameters, nullptr); });
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to, const void* from, size_t bytes,
                                           enum cudaMemcpyKind kind) {
  return set_graph_node(
      node, cudaGraphNodeTypeMemcpy, [&] { return api::cudaMemcpyAsync(to, from, bytes, kind, nullptr); },
      linear_copy(to, from, bytes, kind));
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable, cudaGraphNode_t node, void* to,
                                               const void* from, size_t bytes, enum cudaMemcpyKind kind) {
  return set_graph_node(executable, node, cudaGraphNodeTypeMemcpy,
                        [&] { return api::cudaMemcpyAsync(to, from, bytes, kind, nullptr); });
}

cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                           const cudaGraphNode_t* dependencies, size_t count,
                                           const void* symbol, const void* from, size_t bytes, size_t offset,
                                           enum cudaMemcpyKind kind) {
  return add_graph_node(node, graph, dependencies, count, cudaGraphNodeTypeMemcpy, [&] {
    return api::cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, nullptr);
  });
}

cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                             const cudaGraphNode_t* dependencies, size_t count, void* to,
                                             const void* symbol, size_t bytes, size_t offset,
                                             enum cudaMemcpyKind kind) {
  return add_graph_node(node, graph, dependencies, count, cudaGraphNodeTypeMemcpy, [&] {
    return api::cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, nullptr);
  });
}

cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void* symbol, const void* from,
                                                 size_t bytes, size_t offset, enum cudaMemcpyKind kind) {
  return set_graph_node(node, cudaGraphNodeTypeMemcpy, [&] {
    return api::cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, nullptr);
  });
}

cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void* to, const void* symbol,
                                                   size_t bytes, size_t offset, enum cudaMemcpyKind kind) {
  return set_graph_node(node, cudaGraphNodeTypeMemcpy, [&] {
    return api::cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, nullptr);
  });
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t executable, cudaGraphNode_t node,
                                                     const void* symbol, const void* from, size_t bytes,
                                                     size_t offset, enum cudaMemcpyKind kind) {
  return set_graph_node(executable, node, cudaGraphNodeTypeMemcpy, [&] {
    return api::cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, nullptr);
  });
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t executable, cudaGraphNode_t node,
                                                       void* to, const void* symbol, size_t bytes,
                                                       size_t offset, enum cudaMemcpyKind kind) {
  return set_graph_node(executable, node, cudaGraphNodeTypeMemcpy, [&] {
    return api::cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, nullptr);
  });
}

// ---------------------------------------------------------------- fills and host functions

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, struct cudaMemsetParams* parameters) {
  return query_node(node, cudaGraphNodeTypeMemset, parameters, "cudaGraphMemsetNodeGetParams");
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const struct cudaMemsetParams* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  return set_graph_node(
      node, cudaGraphNodeTypeMemset, [&] { return fill_elements_of(*parameters); }, *parameters);
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const struct cudaMemsetParams* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  return set_graph_node(executable, node, cudaGraphNodeTypeMemset,
                        [&] { return fill_elements_of(*parameters); });
}

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, struct cudaHostNodeParams* parameters) {
  return query_node(node, cudaGraphNodeTypeHost, parameters, "cudaGraphHostNodeGetParams");
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const struct cudaHostNodeParams* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  return set_graph_node(node, cudaGraphNodeTypeHost, [&] {
    return api::cudaLaunchHostFunc(nullptr, parameters->fn, parameters->userData);
  });
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                           const struct cudaHostNodeParams* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  return set_graph_node(executable, node, cudaGraphNodeTypeHost, [&] {
    return api::cudaLaunchHostFunc(nullptr, parameters->fn, parameters->userData);
  });
}

// ---------------------------------------------------------------- events

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                        const cudaGraphNode_t* dependencies, size_t count,
                                        cudaEvent_t event) {
  return add_event_node(node, graph, dependencies, count, cudaGraphNodeTypeEventRecord, event);
}
cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                      const cudaGraphNode_t* dependencies, size_t count, cudaEvent_t event) {
  return add_event_node(node, graph, dependencies, count, cudaGraphNodeTypeWaitEvent, event);
}

cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
  return query_node(node, cudaGraphNodeTypeEventRecord, event, "cudaGraphEventRecordNodeGetEvent");
}
cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
  return query_node(node, cudaGraphNodeTypeWaitEvent, event, "cudaGraphEventWaitNodeGetEvent");
}

cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return set_node_event(nullptr, node, cudaGraphNodeTypeEventRecord, event);
}
cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return set_node_event(nullptr, node, cudaGraphNodeTypeWaitEvent, event);
}
cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t executable, cudaGraphNode_t node,
                                                 cudaEvent_t event) {
  if (executable == nullptr) return cudaErrorInvalidValue;
  return set_node_event(executable, node, cudaGraphNodeTypeEventRecord, event);
}
cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t executable, cudaGraphNode_t node,
                                               cudaEvent_t event) {
  if (executable == nullptr) return cudaErrorInvalidValue;
  return set_node_event(executable, node, cudaGraphNodeTypeWaitEvent, event);
}

// ---------------------------------------------------------------- graphs

cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                                 cudaGraph_t child) {
  return executable_graphs().set_child(executable, node, child);
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node,
                                    unsigned int is_enabled) {
  return executable_graphs().enable(executable, node, is_enabled != 0);
}
cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node,
                                    unsigned int* is_enabled) {
  if (is_enabled == nullptr) return cudaErrorInvalidValue;
  bool found = false;
  const cudaError_t error = executable_graphs().is_enabled(executable, node, &found);
  if (error == cudaSuccess) *is_enabled = found ? 1 : 0;
  return error;
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* found, cudaGraphNode_t node, cudaGraph_t clone) {
  return graphs().find_in_clone(node, clone, found);
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              cudaGraphEdgeData* edges, size_t* count) {
  const size_t room = count != nullptr ? *count : 0;
  const cudaError_t error = graphs().edges(graph, from, to, count);
  if (error == cudaSuccess && edges != nullptr && from != nullptr)
    std::fill_n(edges, room, cudaGraphEdgeData{});
  return error;
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t executable, unsigned long long* flags) {
  return executable_graphs().flags_of(executable, flags);
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* made, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  const cudaError_t error = api::cudaGraphInstantiateWithFlags(made, graph, parameters->flags);
  parameters->errNode_out = nullptr;
  parameters->result_out = error == cudaSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateError;
  return error;
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned int) {
  std::size_t count = 0;
  if (path == nullptr || graphs().list(graph, false, nullptr, &count) != cudaSuccess)
    return cudaErrorInvalidValue;
  std::vector<cudaGraphNode_t> nodes(count);
  if (count != 0) graphs().list(graph, false, nodes.data(), &count);
  std::size_t edges = 0;
  graphs().edges(graph, nullptr, nullptr, &edges);
  std::vector<cudaGraphNode_t> from(edges), to(edges);
  if (edges != 0) graphs().edges(graph, from.data(), to.data(), &edges);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "w"), std::fclose);
  if (file == nullptr) return cudaErrorOperatingSystem;
  std::fputs("digraph graph_1 {\n", file.get());
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    graphs().type_of(node, &type);
    const auto call = graphs().kernel_of(node);
    std::fprintf(file.get(), "  \"%p\" [label=\"%s%s%s\"];\n", static_cast<void*>(node), node_type_name(type),
                 call != nullptr ? ": " : "", call != nullptr ? call->kernel->name.c_str() : "");
  }
  for (std::size_t i = 0; i < edges; ++i) {
    std::fprintf(file.get(), "  \"%p\" -> \"%p\";\n", static_cast<void*>(from[i]), static_cast<void*>(to[i]));
  }
  std::fputs("}\n", file.get());
  return cudaSuccess;
}

}  // namespace lynxpp::device::cpu::api
