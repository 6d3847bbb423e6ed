// Functions of CUDA 12's runtime whose types have changed since, as older.def lists them. They call today's
// functions (api.h), and table.cpp wraps them in the same way.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace lynxpp::device::cpu::api::cuda12 {

/// CUDA 12's cudaDeviceProp: today's, with the fields that CUDA 13 has removed.
struct DeviceProperties {
  char name[256];
  cudaUUID_t uuid;
  char luid[8];
  unsigned luid_device_node_mask;
  std::size_t global_bytes;
  std::size_t shared_bytes_per_block;
  int registers_per_block;
  int warp_size;
  std::size_t memory_pitch;
  int threads_per_block;
  int thread_extents[3];
  int grid_extents[3];
  int clock_rate;  ///< removed
  std::size_t constant_bytes;
  int major;
  int minor;
  std::size_t texture_alignment;
  std::size_t texture_pitch_alignment;
  int device_overlap;  ///< removed
  int multiprocessors;
  int kernel_timeout;  ///< removed
  int integrated;
  int maps_host_memory;
  int compute_mode;  ///< removed
  int texture_1d;
  int texture_1d_mipmap;
  int texture_1d_linear;  ///< removed
  int textures_and_surfaces[37];
  std::size_t surface_alignment;
  int concurrent_kernels_to_unified_addressing[8];
  int memory_clock_rate;  ///< removed
  int memory_bus_width_to_local_l1[7];
  std::size_t shared_bytes_per_multiprocessor;
  int registers_to_native_atomics[5];
  int single_to_double_ratio;  ///< removed
  int pageable_to_cooperative[5];
  int multi_device_launch;  ///< removed
  std::size_t shared_bytes_per_block_optin;
  int page_tables_to_policy_window[4];
  std::size_t reserved_shared_bytes;
  int host_register_to_reserved[76];
};
static_assert(sizeof(DeviceProperties) == 1032);

cudaError_t cudaGetDeviceProperties_v2(DeviceProperties* properties, int device);
cudaError_t cudaMemAdvise(const void* pointer, std::size_t bytes, cudaMemoryAdvise advice, int device);
cudaError_t cudaMemPrefetchAsync(const void* pointer, std::size_t bytes, int device, cudaStream_t stream);
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              std::size_t* count);
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, std::size_t* count);
cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes, std::size_t* count);
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, std::size_t count);
cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                        const cudaGraphNode_t* to, std::size_t count);
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                        unsigned long long* id, cudaGraph_t* graph,
                                        const cudaGraphNode_t** dependencies, std::size_t* count);

}  // namespace lynxpp::device::cpu::api::cuda12
