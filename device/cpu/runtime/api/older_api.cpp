#include "device/cpu/runtime/older_api.h"

#include <cstddef>
#include <cstring>

#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/properties.h"

namespace lynxpp::device::cpu::api::cuda12 {
namespace {

/// A range of fields that both versions of the structure have.
struct Fields {
  std::size_t now;
  std::size_t then;
  std::size_t bytes;
};

// From `first` to `last`, which CUDA 12 has from `then` on.
#define LYNXPP_FIELDS(first, last, then)                                                                \
  {                                                                                                     \
    offsetof(cudaDeviceProp, first), offsetof(DeviceProperties, then),                                  \
        offsetof(cudaDeviceProp, last) + sizeof(cudaDeviceProp::last) - offsetof(cudaDeviceProp, first) \
  }

constexpr Fields kept_fields[] = {
    LYNXPP_FIELDS(name, maxGridSize, name),
    LYNXPP_FIELDS(totalConstMem, texturePitchAlignment, constant_bytes),
    LYNXPP_FIELDS(multiProcessorCount, multiProcessorCount, multiprocessors),
    LYNXPP_FIELDS(integrated, canMapHostMemory, integrated),
    LYNXPP_FIELDS(maxTexture1D, maxTexture1DMipmap, texture_1d),
    LYNXPP_FIELDS(maxTexture2D, maxSurfaceCubemapLayered, textures_and_surfaces),
    LYNXPP_FIELDS(surfaceAlignment, unifiedAddressing, surface_alignment),
    LYNXPP_FIELDS(memoryBusWidth, localL1CacheSupported, memory_bus_width_to_local_l1),
    LYNXPP_FIELDS(sharedMemPerMultiprocessor, hostNativeAtomicSupported, shared_bytes_per_multiprocessor),
    LYNXPP_FIELDS(pageableMemoryAccess, cooperativeLaunch, pageable_to_cooperative),
    LYNXPP_FIELDS(sharedMemPerBlockOptin, accessPolicyMaxWindowSize, shared_bytes_per_block_optin),
    LYNXPP_FIELDS(reservedSharedMemPerBlock, reserved, reserved_shared_bytes),
};

cudaMemLocation location_of(int device) {
  cudaMemLocation location = {};
  location.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  location.id = device == cudaCpuDeviceId ? 0 : device;
  return location;
}

}  // namespace

cudaError_t cudaGetDeviceProperties_v2(DeviceProperties* properties, int device) {
  if (properties == nullptr) return cudaErrorInvalidValue;
  cudaDeviceProp now;
  if (const cudaError_t error = api::cudaGetDeviceProperties(&now, device); error != cudaSuccess)
    return error;
  std::memset(static_cast<void*>(properties), 0, sizeof *properties);
  for (const Fields& fields : kept_fields)
    std::memcpy(reinterpret_cast<char*>(properties) + fields.then,
                reinterpret_cast<const char*>(&now) + fields.now, fields.bytes);
  const auto attribute = [device](cudaDeviceAttr name) { return device_attribute(name, device).value_or(0); };
  properties->clock_rate = attribute(cudaDevAttrClockRate);
  properties->device_overlap = attribute(cudaDevAttrGpuOverlap);
  properties->kernel_timeout = attribute(cudaDevAttrKernelExecTimeout);
  properties->compute_mode = attribute(cudaDevAttrComputeMode);
  properties->texture_1d_linear = attribute(cudaDevAttrMaxTexture1DLinearWidth);
  properties->memory_clock_rate = attribute(cudaDevAttrMemoryClockRate);
  properties->single_to_double_ratio = attribute(cudaDevAttrSingleToDoublePrecisionPerfRatio);
  return cudaSuccess;
}

cudaError_t cudaMemAdvise(const void* pointer, std::size_t bytes, cudaMemoryAdvise advice, int device) {
  return api::cudaMemAdvise(pointer, bytes, advice, location_of(device));
}

cudaError_t cudaMemPrefetchAsync(const void* pointer, std::size_t bytes, int device, cudaStream_t stream) {
  return api::cudaMemPrefetchAsync(pointer, bytes, location_of(device), 0, stream);
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              std::size_t* count) {
  return api::cudaGraphGetEdges(graph, from, to, nullptr, count);
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, std::size_t* count) {
  return api::cudaGraphNodeGetDependencies(node, nodes, nullptr, count);
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes, std::size_t* count) {
  return api::cudaGraphNodeGetDependentNodes(node, nodes, nullptr, count);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, std::size_t count) {
  return api::cudaGraphAddDependencies(graph, from, to, nullptr, count);
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                        const cudaGraphNode_t* to, std::size_t count) {
  return api::cudaGraphRemoveDependencies(graph, from, to, nullptr, count);
}

cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                        unsigned long long* id, cudaGraph_t* graph,
                                        const cudaGraphNode_t** dependencies, std::size_t* count) {
  return api::cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, nullptr, count);
}

}  // namespace lynxpp::device::cpu::api::cuda12
