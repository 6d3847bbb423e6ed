// API functions for graph nodes that allocate and free memory.
#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/devices.h"
#include "device/cpu/runtime/graphs/graph_memory.h"
#include "device/cpu/runtime/graphs/graph_nodes.h"
#include "device/cpu/runtime/graphs/graphs.h"
#include "device/cpu/runtime/memory/memory_pools.h"

namespace lynxpp::device::cpu::api {

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* dependencies, size_t count,
                                     struct cudaMemAllocNodeParams* parameters) {
  if (parameters == nullptr || parameters->bytesize == 0) return cudaErrorInvalidValue;
  const cudaMemPoolProps& wanted = parameters->poolProps;
  if (wanted.allocType != cudaMemAllocationTypePinned || wanted.location.type != cudaMemLocationTypeDevice)
    return cudaErrorInvalidValue;
  if (wanted.handleTypes != cudaMemHandleTypeNone) return cudaErrorNotSupported;
  if (!is_device(wanted.location.id)) return cudaErrorInvalidDevice;
  const DeviceScope device(wanted.location.id);
  return add_graph_node(node, graph, dependencies, count, cudaGraphNodeTypeMemAlloc, [&] {
    return capture_allocation(&parameters->dptr, parameters->bytesize,
                              memory_pools().default_pool(wanted.location.id), nullptr);
  });
}

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, struct cudaMemAllocNodeParams* parameters) {
  const auto memory = graphs().memory_of(node, true);
  if (memory == nullptr || parameters == nullptr) return cudaErrorInvalidValue;
  *parameters = {};
  parameters->poolProps.allocType = cudaMemAllocationTypePinned;
  parameters->poolProps.location.type = cudaMemLocationTypeDevice;
  parameters->poolProps.location.id = memory->device;
  parameters->bytesize = memory->bytes;
  parameters->dptr = memory->storage.get();
  return cudaSuccess;
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                    const cudaGraphNode_t* dependencies, size_t count, void* pointer) {
  return add_graph_node(node, graph, dependencies, count, cudaGraphNodeTypeMemFree,
                        [&] { return capture_free(pointer, nullptr); });
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* pointer) {
  const auto memory = graphs().memory_of(node, false);
  if (memory == nullptr || pointer == nullptr) return cudaErrorInvalidValue;
  *static_cast<void**>(pointer) = memory->storage.get();
  return cudaSuccess;
}

// Graph memory is released with its graph, so nothing needs trimming.
cudaError_t cudaDeviceGraphMemTrim(int device) {
  return is_device(device) ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute,
                                           void* value) {
  if (!is_device(device)) return cudaErrorInvalidDevice;
  if (value == nullptr) return cudaErrorInvalidValue;
  const GraphMemoryUse use = graph_memory_use(device);
  auto& result = *static_cast<std::uint64_t*>(value);
  switch (attribute) {
    case cudaGraphMemAttrUsedMemCurrent: result = use.used; return cudaSuccess;
    case cudaGraphMemAttrUsedMemHigh: result = use.most_used; return cudaSuccess;
    case cudaGraphMemAttrReservedMemCurrent: result = use.reserved; return cudaSuccess;
    case cudaGraphMemAttrReservedMemHigh: result = use.most_reserved; return cudaSuccess;
  }
  return cudaErrorInvalidValue;
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute,
                                           void* value) {
  if (!is_device(device)) return cudaErrorInvalidDevice;
  const bool is_most =
      attribute == cudaGraphMemAttrUsedMemHigh || attribute == cudaGraphMemAttrReservedMemHigh;
  if (!is_most || value == nullptr || *static_cast<std::uint64_t*>(value) != 0) return cudaErrorInvalidValue;
  reset_most_graph_memory(device, attribute == cudaGraphMemAttrUsedMemHigh);
  return cudaSuccess;
}

}  // namespace lynxpp::device::cpu::api
