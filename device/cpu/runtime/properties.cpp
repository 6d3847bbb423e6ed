#include "device/cpu/runtime/properties.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <span>

#include "device/cpu/runtime/clock.h"
#include "device/cpu/runtime/device_limits.h"
#include "device/cpu/runtime/memory/allocations.h"
#include "device/cpu/runtime/textures/limits.h"
#include "device/cpu/simt/execute/executor.h"
#include "device/cpu/simt/execute/occupancy.h"
#include "device/uuid.h"

namespace lynxpp::device::cpu {
namespace {

int l2_cache_bytes() {
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? static_cast<int>(bytes) : 1 << 20;
}

/// Returns attributes of the modelled machine that programs use to compute times and grid sizes.
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

/// Returns a numeric attribute; nullopt for any other attribute.
std::optional<int> numeric_attribute(cudaDeviceAttr attribute) {
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
    case cudaDevAttrComputeCapabilityMajor: return compute_capability() / 10;
    case cudaDevAttrComputeCapabilityMinor: return compute_capability() % 10;
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
    default: return std::nullopt;
  }
  // NOLINTEND(bugprone-branch-clone)
}

/// Attributes that are 1 because host memory and threads provide the feature.
constexpr cudaDeviceAttr attributes_it_has[] = {
    cudaDevAttrCanMapHostMemory,
    cudaDevAttrUnifiedAddressing,
    cudaDevAttrStreamPrioritiesSupported,
    cudaDevAttrGlobalL1CacheSupported,
    cudaDevAttrLocalL1CacheSupported,
    cudaDevAttrManagedMemory,
    cudaDevAttrHostNativeAtomicSupported,
    cudaDevAttrConcurrentManagedAccess,
    cudaDevAttrComputePreemptionSupported,
    cudaDevAttrCanUseHostPointerForRegisteredMem,
    cudaDevAttrHostRegisterSupported,
    cudaDevAttrDirectManagedMemAccessFromHost,
    cudaDevAttrHostRegisterReadOnlySupported,
    cudaDevAttrMemoryPoolsSupported,
    cudaDevAttrGpuOverlap,
    cudaDevAttrConcurrentKernels,
    cudaDevAttrCooperativeLaunch,
    cudaDevAttrClusterLaunch,
    cudaDevAttrAsyncEngineCount,
};

/// Attributes that are 0: features that the device lacks.
constexpr cudaDeviceAttr attributes_it_lacks[] = {
    cudaDevAttrKernelExecTimeout,
    cudaDevAttrEccEnabled,
    cudaDevAttrPciDeviceId,
    cudaDevAttrPciDomainId,
    cudaDevAttrTccDriver,
    cudaDevAttrIsMultiGpuBoard,
    cudaDevAttrMultiGpuBoardGroupID,
    cudaDevAttrPageableMemoryAccess,
    cudaDevAttrCanFlushRemoteWrites,
    cudaDevAttrPageableMemoryAccessUsesHostPageTables,
    cudaDevAttrMaxPersistingL2CacheSize,
    cudaDevAttrMaxAccessPolicyWindowSize,
    cudaDevAttrSparseCudaArraySupported,
    cudaDevAttrTimelineSemaphoreInteropSupported,
    cudaDevAttrGPUDirectRDMASupported,
    cudaDevAttrGPUDirectRDMAFlushWritesOptions,
    cudaDevAttrGPUDirectRDMAWritesOrdering,
    cudaDevAttrMemoryPoolSupportedHandleTypes,
    cudaDevAttrDeferredMappingCudaArraySupported,
    cudaDevAttrIpcEventSupport,
    cudaDevAttrNumaConfig,
    cudaDevAttrMpsEnabled,
    cudaDevAttrD3D12CigSupported,
    cudaDevAttrVulkanCigSupported,
    cudaDevAttrGpuPciDeviceId,
    cudaDevAttrGpuPciSubsystemId,
    cudaDevAttrHostNumaMemoryPoolsSupported,
    cudaDevAttrHostNumaMultinodeIpcSupported,
    cudaDevAttrHostMemoryPoolsSupported,
    cudaDevAttrOnlyPartialHostNativeAtomicSupported,
    cudaDevAttrIntegrated,
    cudaDevAttrComputeMode,
    cudaDevAttrReserved92,
    cudaDevAttrReserved93,
    cudaDevAttrReserved94,
    cudaDevAttrReserved96,
    cudaDevAttrReserved122,
    cudaDevAttrReserved123,
    cudaDevAttrReserved124,
    cudaDevAttrReserved127,
    cudaDevAttrReserved128,
    cudaDevAttrReserved129,
    cudaDevAttrReserved132,
    cudaDevAttrReserved141,
    cudaDevAttrReserved145,
};

int attribute_value(cudaDeviceAttr attribute) { return device_attribute(attribute).value_or(0); }

std::size_t attribute_bytes(cudaDeviceAttr attribute) {
  return static_cast<std::size_t>(attribute_value(attribute));
}

void set_identity(cudaDeviceProp& properties, int device) {
  std::string name = device_name;
  if (device != 0) name += " " + std::to_string(device);
  std::strncpy(properties.name, name.c_str(), sizeof properties.name - 1);
  std::memcpy(properties.uuid.bytes, device_name, sizeof properties.uuid.bytes);
  properties.uuid.bytes[sizeof properties.uuid.bytes - 1] += static_cast<char>(device);
  properties.pciBusID = device;
}

void set_numbers(cudaDeviceProp& properties) {
  properties.totalGlobalMem = Allocations::total_bytes();
  properties.sharedMemPerBlock = attribute_bytes(cudaDevAttrMaxSharedMemoryPerBlock);
  properties.regsPerBlock = attribute_value(cudaDevAttrMaxRegistersPerBlock);
  properties.warpSize = attribute_value(cudaDevAttrWarpSize);
  properties.memPitch = attribute_bytes(cudaDevAttrMaxPitch);
  properties.maxThreadsPerBlock = attribute_value(cudaDevAttrMaxThreadsPerBlock);
  properties.maxThreadsDim[0] = attribute_value(cudaDevAttrMaxBlockDimX);
  properties.maxThreadsDim[1] = attribute_value(cudaDevAttrMaxBlockDimY);
  properties.maxThreadsDim[2] = attribute_value(cudaDevAttrMaxBlockDimZ);
  properties.maxGridSize[0] = attribute_value(cudaDevAttrMaxGridDimX);
  properties.maxGridSize[1] = attribute_value(cudaDevAttrMaxGridDimY);
  properties.maxGridSize[2] = attribute_value(cudaDevAttrMaxGridDimZ);
  properties.totalConstMem = attribute_bytes(cudaDevAttrTotalConstantMemory);
  properties.major = attribute_value(cudaDevAttrComputeCapabilityMajor);
  properties.minor = attribute_value(cudaDevAttrComputeCapabilityMinor);
  properties.textureAlignment = attribute_bytes(cudaDevAttrTextureAlignment);
  properties.texturePitchAlignment = attribute_bytes(cudaDevAttrTexturePitchAlignment);
  properties.multiProcessorCount = attribute_value(cudaDevAttrMultiProcessorCount);
  properties.surfaceAlignment = attribute_bytes(cudaDevAttrSurfaceAlignment);
  properties.memoryBusWidth = attribute_value(cudaDevAttrGlobalMemoryBusWidth);
  properties.l2CacheSize = attribute_value(cudaDevAttrL2CacheSize);
  properties.maxThreadsPerMultiProcessor = attribute_value(cudaDevAttrMaxThreadsPerMultiProcessor);
  properties.sharedMemPerMultiprocessor = attribute_bytes(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  properties.regsPerMultiprocessor = attribute_value(cudaDevAttrMaxRegistersPerMultiprocessor);
  properties.sharedMemPerBlockOptin = attribute_bytes(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  properties.maxBlocksPerMultiProcessor = attribute_value(cudaDevAttrMaxBlocksPerMultiprocessor);
  properties.reservedSharedMemPerBlock = attribute_bytes(cudaDevAttrReservedSharedMemoryPerBlock);
  properties.deviceNumaId = attribute_value(cudaDevAttrNumaId);
  properties.hostNumaId = attribute_value(cudaDevAttrHostNumaId);
}

void set_abilities(cudaDeviceProp& properties) {
  properties.canMapHostMemory = attribute_value(cudaDevAttrCanMapHostMemory);
  properties.concurrentKernels = attribute_value(cudaDevAttrConcurrentKernels);
  properties.asyncEngineCount = attribute_value(cudaDevAttrAsyncEngineCount);
  properties.unifiedAddressing = attribute_value(cudaDevAttrUnifiedAddressing);
  properties.streamPrioritiesSupported = attribute_value(cudaDevAttrStreamPrioritiesSupported);
  properties.globalL1CacheSupported = attribute_value(cudaDevAttrGlobalL1CacheSupported);
  properties.localL1CacheSupported = attribute_value(cudaDevAttrLocalL1CacheSupported);
  properties.managedMemory = attribute_value(cudaDevAttrManagedMemory);
  properties.hostNativeAtomicSupported = attribute_value(cudaDevAttrHostNativeAtomicSupported);
  properties.concurrentManagedAccess = attribute_value(cudaDevAttrConcurrentManagedAccess);
  properties.computePreemptionSupported = attribute_value(cudaDevAttrComputePreemptionSupported);
  properties.canUseHostPointerForRegisteredMem =
      attribute_value(cudaDevAttrCanUseHostPointerForRegisteredMem);
  properties.cooperativeLaunch = attribute_value(cudaDevAttrCooperativeLaunch);
  properties.clusterLaunch = attribute_value(cudaDevAttrClusterLaunch);
  properties.pageableMemoryAccess = attribute_value(cudaDevAttrPageableMemoryAccess);
  properties.directManagedMemAccessFromHost = attribute_value(cudaDevAttrDirectManagedMemAccessFromHost);
  properties.hostRegisterSupported = attribute_value(cudaDevAttrHostRegisterSupported);
  properties.hostRegisterReadOnlySupported = attribute_value(cudaDevAttrHostRegisterReadOnlySupported);
  properties.memoryPoolsSupported = attribute_value(cudaDevAttrMemoryPoolsSupported);
}

}  // namespace

std::optional<int> device_attribute(cudaDeviceAttr attribute, int device) {
  if (const std::optional<int> modelled = modelled_attribute(attribute)) return modelled;
  if (const std::optional<int> limit = texture_limit(attribute)) return limit;
  if (const std::optional<int> number = numeric_attribute(attribute)) return number;
  if (attribute == cudaDevAttrPciBusId) return device;
  if (std::ranges::find(attributes_it_has, attribute) != std::end(attributes_it_has)) return 1;
  if (std::ranges::find(attributes_it_lacks, attribute) != std::end(attributes_it_lacks)) return 0;
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
  cudaDeviceProp properties;
  std::memset(&properties, 0, sizeof properties);
  set_identity(properties, device);
  set_numbers(properties);
  set_abilities(properties);
  set_texture_limits(properties);
  // Every other field is 0, like the corresponding attribute.
  return properties;
}

}  // namespace lynxpp::device::cpu
