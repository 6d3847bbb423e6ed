#include "device/cpu/runtime/properties.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <span>

#include "device/cpu/runtime/allocations.h"
#include "device/cpu/runtime/clock.h"
#include "device/cpu/runtime/registry.h"
#include "device/cpu/runtime/textures/limits.h"
#include "device/cpu/simt/execute/executor.h"
#include "device/uuid.h"

namespace lynxpp::device::cpu {
namespace {

int l2_cache_bytes() {
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? static_cast<int>(bytes) : 1 << 20;
}

/// What a program computes times and sizes of grids with, of the machine whose time is modelled.
std::optional<int> modelled_attribute(cudaDeviceAttr attribute) {
  const models::Machine* const machine = modelled_machine();
  if (machine == nullptr) return std::nullopt;
  constexpr std::uint32_t khz_of_mhz = 1000;
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount: return static_cast<int>(machine->timing->multiprocessors);
    case cudaDevAttrClockRate: return static_cast<int>(machine->timing->core_mhz * khz_of_mhz);
    case cudaDevAttrMemoryClockRate: return static_cast<int>(machine->timing->memory_mhz * khz_of_mhz);
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<int> device_attribute(cudaDeviceAttr attribute, int device) {
  if (const std::optional<int> modelled = modelled_attribute(attribute)) return modelled;
  if (const std::optional<int> limit = texture_limit(attribute)) return limit;
  // NOLINTBEGIN(bugprone-branch-clone): a table, in which numbers may coincide
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: return max_threads_per_block;
    case cudaDevAttrMaxBlockDimX: return max_threads_per_block;
    case cudaDevAttrMaxBlockDimY: return max_threads_per_block;
    case cudaDevAttrMaxBlockDimZ: return max_block_dimension_z;
    case cudaDevAttrMaxGridDimX: return max_grid_dimension_x;
    case cudaDevAttrMaxGridDimY: return max_grid_dimension_yz;
    case cudaDevAttrMaxGridDimZ: return max_grid_dimension_yz;
    case cudaDevAttrMaxSharedMemoryPerBlock: return default_shared_limit;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: return optin_shared_limit;
    case cudaDevAttrReservedSharedMemoryPerBlock: return reserved_shared_per_block;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return shared_per_multiprocessor;
    case cudaDevAttrTotalConstantMemory: return 65536;
    case cudaDevAttrWarpSize: return 32;
    case cudaDevAttrMaxPitch: return 2147483647;
    case cudaDevAttrMaxRegistersPerBlock: return 65536;
    case cudaDevAttrMaxRegistersPerMultiprocessor: return 65536;
    case cudaDevAttrMultiProcessorCount: return static_cast<int>(multiprocessors());
    case cudaDevAttrMaxThreadsPerMultiProcessor: return threads_per_multiprocessor;
    case cudaDevAttrMaxBlocksPerMultiprocessor: return blocks_per_multiprocessor;
    case cudaDevAttrComputeCapabilityMajor: return compute_capability / 10;
    case cudaDevAttrComputeCapabilityMinor: return compute_capability % 10;
    case cudaDevAttrClockRate: return 1000000;
    case cudaDevAttrMemoryClockRate: return 1000000;
    case cudaDevAttrGlobalMemoryBusWidth: return 64;
    case cudaDevAttrL2CacheSize: return l2_cache_bytes();
    case cudaDevAttrTextureAlignment: return texture_alignment;
    case cudaDevAttrSurfaceAlignment: return texture_alignment;
    case cudaDevAttrTexturePitchAlignment: return texture_pitch_alignment;
    case cudaDevAttrSingleToDoublePrecisionPerfRatio: return 2;
    case cudaDevAttrNumaId: return -1;
    case cudaDevAttrHostNumaId: return -1;
    case cudaDevAttrMemSyncDomainCount: return 1;

    // What host memory and threads give for free.
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrGlobalL1CacheSupported:
    case cudaDevAttrLocalL1CacheSupported:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrHostNativeAtomicSupported:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrComputePreemptionSupported:
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrDirectManagedMemAccessFromHost:
    case cudaDevAttrHostRegisterReadOnlySupported:
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrGpuOverlap:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrClusterLaunch:
    case cudaDevAttrAsyncEngineCount: return 1;

    case cudaDevAttrPciBusId: return device;

    // texture_limit() knows these.
    case cudaDevAttrMaxTexture1DWidth:
    case cudaDevAttrMaxTexture2DWidth:
    case cudaDevAttrMaxTexture2DHeight:
    case cudaDevAttrMaxTexture3DWidth:
    case cudaDevAttrMaxTexture3DHeight:
    case cudaDevAttrMaxTexture3DDepth:
    case cudaDevAttrMaxTexture2DLayeredWidth:
    case cudaDevAttrMaxTexture2DLayeredHeight:
    case cudaDevAttrMaxTexture2DLayeredLayers:
    case cudaDevAttrMaxTexture1DLayeredWidth:
    case cudaDevAttrMaxTexture1DLayeredLayers:
    case cudaDevAttrMaxTexture2DGatherWidth:
    case cudaDevAttrMaxTexture2DGatherHeight:
    case cudaDevAttrMaxTexture3DWidthAlt:
    case cudaDevAttrMaxTexture3DHeightAlt:
    case cudaDevAttrMaxTexture3DDepthAlt:
    case cudaDevAttrMaxTextureCubemapWidth:
    case cudaDevAttrMaxTextureCubemapLayeredWidth:
    case cudaDevAttrMaxTextureCubemapLayeredLayers:
    case cudaDevAttrMaxSurface1DWidth:
    case cudaDevAttrMaxSurface2DWidth:
    case cudaDevAttrMaxSurface2DHeight:
    case cudaDevAttrMaxSurface3DWidth:
    case cudaDevAttrMaxSurface3DHeight:
    case cudaDevAttrMaxSurface3DDepth:
    case cudaDevAttrMaxSurface1DLayeredWidth:
    case cudaDevAttrMaxSurface1DLayeredLayers:
    case cudaDevAttrMaxSurface2DLayeredWidth:
    case cudaDevAttrMaxSurface2DLayeredHeight:
    case cudaDevAttrMaxSurface2DLayeredLayers:
    case cudaDevAttrMaxSurfaceCubemapWidth:
    case cudaDevAttrMaxSurfaceCubemapLayeredWidth:
    case cudaDevAttrMaxSurfaceCubemapLayeredLayers:
    case cudaDevAttrMaxTexture1DLinearWidth:
    case cudaDevAttrMaxTexture2DLinearWidth:
    case cudaDevAttrMaxTexture2DLinearHeight:
    case cudaDevAttrMaxTexture2DLinearPitch:
    case cudaDevAttrMaxTexture2DMipmappedWidth:
    case cudaDevAttrMaxTexture2DMipmappedHeight:
    case cudaDevAttrMaxTexture1DMipmappedWidth: return std::nullopt;

    // Nothing of the kind: no clusters, no bus.
    case cudaDevAttrKernelExecTimeout:
    case cudaDevAttrEccEnabled:
    case cudaDevAttrPciDeviceId:
    case cudaDevAttrPciDomainId:
    case cudaDevAttrTccDriver:
    case cudaDevAttrIsMultiGpuBoard:
    case cudaDevAttrMultiGpuBoardGroupID:
    case cudaDevAttrPageableMemoryAccess:
    case cudaDevAttrCanFlushRemoteWrites:
    case cudaDevAttrPageableMemoryAccessUsesHostPageTables:
    case cudaDevAttrMaxPersistingL2CacheSize:
    case cudaDevAttrMaxAccessPolicyWindowSize:
    case cudaDevAttrSparseCudaArraySupported:
    case cudaDevAttrTimelineSemaphoreInteropSupported:
    case cudaDevAttrGPUDirectRDMASupported:
    case cudaDevAttrGPUDirectRDMAFlushWritesOptions:
    case cudaDevAttrGPUDirectRDMAWritesOrdering:
    case cudaDevAttrMemoryPoolSupportedHandleTypes:
    case cudaDevAttrDeferredMappingCudaArraySupported:
    case cudaDevAttrIpcEventSupport:
    case cudaDevAttrNumaConfig:
    case cudaDevAttrMpsEnabled:
    case cudaDevAttrD3D12CigSupported:
    case cudaDevAttrVulkanCigSupported:
    case cudaDevAttrGpuPciDeviceId:
    case cudaDevAttrGpuPciSubsystemId:
    case cudaDevAttrHostNumaMemoryPoolsSupported:
    case cudaDevAttrHostNumaMultinodeIpcSupported:
    case cudaDevAttrHostMemoryPoolsSupported:
    case cudaDevAttrOnlyPartialHostNativeAtomicSupported:
    case cudaDevAttrIntegrated:
    case cudaDevAttrComputeMode:
    case cudaDevAttrReserved92:
    case cudaDevAttrReserved93:
    case cudaDevAttrReserved94:
    case cudaDevAttrReserved96:
    case cudaDevAttrReserved122:
    case cudaDevAttrReserved123:
    case cudaDevAttrReserved124:
    case cudaDevAttrReserved127:
    case cudaDevAttrReserved128:
    case cudaDevAttrReserved129:
    case cudaDevAttrReserved132:
    case cudaDevAttrReserved141:
    case cudaDevAttrReserved145: return 0;

    case cudaDevAttrMax: break;
  }
  // NOLINTEND(bugprone-branch-clone)
  return std::nullopt;
}

std::string device_bus_id(int device) {
  char text[24];
  std::snprintf(text, sizeof text, "0000:%02x:00.0", static_cast<unsigned>(device));
  return text;
}

std::string device_uuid(int device) {
  const cudaDeviceProp properties = device_properties(device);
  return text_of_uuid(std::as_bytes(std::span(properties.uuid.bytes)));
}

cudaDeviceProp device_properties(int device) {
  const auto attribute = [](cudaDeviceAttr which) { return device_attribute(which).value_or(0); };
  const auto bytes = [&](cudaDeviceAttr which) { return static_cast<std::size_t>(attribute(which)); };
  cudaDeviceProp properties;
  std::memset(&properties, 0, sizeof properties);
  std::string name = device_name;
  if (device != 0) name += " " + std::to_string(device);
  std::strncpy(properties.name, name.c_str(), sizeof properties.name - 1);
  std::memcpy(properties.uuid.bytes, device_name, sizeof properties.uuid.bytes);
  properties.uuid.bytes[sizeof properties.uuid.bytes - 1] += static_cast<char>(device);
  properties.pciBusID = device;
  properties.totalGlobalMem = Allocations::total_bytes();
  properties.sharedMemPerBlock = bytes(cudaDevAttrMaxSharedMemoryPerBlock);
  properties.regsPerBlock = attribute(cudaDevAttrMaxRegistersPerBlock);
  properties.warpSize = attribute(cudaDevAttrWarpSize);
  properties.memPitch = bytes(cudaDevAttrMaxPitch);
  properties.maxThreadsPerBlock = attribute(cudaDevAttrMaxThreadsPerBlock);
  properties.maxThreadsDim[0] = attribute(cudaDevAttrMaxBlockDimX);
  properties.maxThreadsDim[1] = attribute(cudaDevAttrMaxBlockDimY);
  properties.maxThreadsDim[2] = attribute(cudaDevAttrMaxBlockDimZ);
  properties.maxGridSize[0] = attribute(cudaDevAttrMaxGridDimX);
  properties.maxGridSize[1] = attribute(cudaDevAttrMaxGridDimY);
  properties.maxGridSize[2] = attribute(cudaDevAttrMaxGridDimZ);
  properties.totalConstMem = bytes(cudaDevAttrTotalConstantMemory);
  properties.major = attribute(cudaDevAttrComputeCapabilityMajor);
  properties.minor = attribute(cudaDevAttrComputeCapabilityMinor);
  properties.textureAlignment = bytes(cudaDevAttrTextureAlignment);
  properties.texturePitchAlignment = bytes(cudaDevAttrTexturePitchAlignment);
  properties.multiProcessorCount = attribute(cudaDevAttrMultiProcessorCount);
  properties.canMapHostMemory = attribute(cudaDevAttrCanMapHostMemory);
  properties.concurrentKernels = attribute(cudaDevAttrConcurrentKernels);
  properties.asyncEngineCount = attribute(cudaDevAttrAsyncEngineCount);
  properties.surfaceAlignment = bytes(cudaDevAttrSurfaceAlignment);
  properties.unifiedAddressing = attribute(cudaDevAttrUnifiedAddressing);
  properties.memoryBusWidth = attribute(cudaDevAttrGlobalMemoryBusWidth);
  properties.l2CacheSize = attribute(cudaDevAttrL2CacheSize);
  properties.maxThreadsPerMultiProcessor = attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
  properties.streamPrioritiesSupported = attribute(cudaDevAttrStreamPrioritiesSupported);
  properties.globalL1CacheSupported = attribute(cudaDevAttrGlobalL1CacheSupported);
  properties.localL1CacheSupported = attribute(cudaDevAttrLocalL1CacheSupported);
  properties.sharedMemPerMultiprocessor = bytes(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  properties.regsPerMultiprocessor = attribute(cudaDevAttrMaxRegistersPerMultiprocessor);
  properties.managedMemory = attribute(cudaDevAttrManagedMemory);
  properties.hostNativeAtomicSupported = attribute(cudaDevAttrHostNativeAtomicSupported);
  properties.concurrentManagedAccess = attribute(cudaDevAttrConcurrentManagedAccess);
  properties.computePreemptionSupported = attribute(cudaDevAttrComputePreemptionSupported);
  properties.canUseHostPointerForRegisteredMem = attribute(cudaDevAttrCanUseHostPointerForRegisteredMem);
  properties.cooperativeLaunch = attribute(cudaDevAttrCooperativeLaunch);
  properties.clusterLaunch = attribute(cudaDevAttrClusterLaunch);
  properties.sharedMemPerBlockOptin = bytes(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  properties.pageableMemoryAccess = attribute(cudaDevAttrPageableMemoryAccess);
  properties.directManagedMemAccessFromHost = attribute(cudaDevAttrDirectManagedMemAccessFromHost);
  properties.maxBlocksPerMultiProcessor = attribute(cudaDevAttrMaxBlocksPerMultiprocessor);
  properties.reservedSharedMemPerBlock = bytes(cudaDevAttrReservedSharedMemoryPerBlock);
  properties.hostRegisterSupported = attribute(cudaDevAttrHostRegisterSupported);
  properties.hostRegisterReadOnlySupported = attribute(cudaDevAttrHostRegisterReadOnlySupported);
  properties.memoryPoolsSupported = attribute(cudaDevAttrMemoryPoolsSupported);
  properties.deviceNumaId = attribute(cudaDevAttrNumaId);
  properties.hostNumaId = attribute(cudaDevAttrHostNumaId);
  set_texture_limits(properties);
  // Every other field is 0, as the attribute of its name is.
  return properties;
}

}  // namespace lynxpp::device::cpu
