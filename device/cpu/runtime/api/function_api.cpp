// Function attributes and occupancy.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/clock.h"
#include "device/cpu/runtime/devices.h"
#include "device/cpu/runtime/launch.h"
#include "device/cpu/runtime/modules/registry.h"
#include "device/cpu/simt/execute/occupancy.h"
#include "device/cpu/simt/execute/order/cluster_window.h"

namespace lynxpp::device::cpu::api {
namespace {

/// Finds the registered kernel and loads it.
cudaError_t load(const void* function, Kernel*& kernel, std::shared_ptr<const LoadedKernel>& loaded) {
  kernel = registry().find_kernel(function);
  return kernel != nullptr ? kernel->binary->load(*kernel, current_device(), loaded)
                           : cudaErrorInvalidDeviceFunction;
}

/// Returns 75 for `.target sm_75`.
int target_of(const std::string& ptx) {
  constexpr const char* directive = ".target sm_";
  const std::size_t found = ptx.find(directive);
  return found != std::string::npos ? std::atoi(ptx.c_str() + found + std::strlen(directive)) : 0;
}

cudaError_t set_attribute(const void* function, cudaFuncAttribute attribute, int value) {
  Kernel* kernel = nullptr;
  std::shared_ptr<const LoadedKernel> loaded;
  if (const cudaError_t error = load(function, kernel, loaded); error != cudaSuccess) return error;
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
      if (value < 0 || value > optin_shared_limit - static_cast<int>(loaded->info.static_shared_bytes)) {
        return cudaErrorInvalidValue;
      }
      kernel->on(current_device()).max_dynamic_shared = value;
      return cudaSuccess;
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      if (value < -1 || value > 100) return cudaErrorInvalidValue;
      kernel->on(current_device()).shared_carveout = value;
      return cudaSuccess;
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
      if (value != 0 && value != 1) return cudaErrorInvalidValue;
      kernel->on(current_device()).takes_large_clusters = value != 0;
      return cudaSuccess;
    case cudaFuncAttributeRequiredClusterWidth:
    case cudaFuncAttributeRequiredClusterHeight:
    case cudaFuncAttributeRequiredClusterDepth:
      if (loaded->info.cluster) return cudaErrorNotPermitted;  // fixed by the PTX
      if (value < 0) return cudaErrorInvalidValue;
      kernel->on(current_device()).required_cluster[attribute - cudaFuncAttributeRequiredClusterWidth] =
          value;
      return cudaSuccess;
    case cudaFuncAttributeClusterSchedulingPolicyPreference: return cudaSuccess;  // has no effect
    default: return cudaErrorInvalidValue;
  }
}

cudaError_t occupancy(int* blocks, const void* function, int threads, size_t shared_bytes) {
  if (blocks == nullptr || threads <= 0) return cudaErrorInvalidValue;
  Kernel* kernel = nullptr;
  std::shared_ptr<const LoadedKernel> loaded;
  if (const cudaError_t error = load(function, kernel, loaded); error != cudaSuccess) return error;
  *blocks = blocks_of_multiprocessor(loaded->info, threads, shared_bytes);
  return cudaSuccess;
}

cudaError_t check_function(const void* function) {
  return registry().find_kernel(function) != nullptr ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

}  // namespace

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes* attributes, const void* function) {
  if (attributes == nullptr) return cudaErrorInvalidValue;
  Kernel* kernel = nullptr;
  std::shared_ptr<const LoadedKernel> loaded;
  if (const cudaError_t error = load(function, kernel, loaded); error != cudaSuccess) return error;
  const KernelInfo& info = loaded->info;
  std::memset(attributes, 0, sizeof *attributes);
  attributes->sharedSizeBytes = info.static_shared_bytes;
  attributes->localSizeBytes = info.local_bytes;
  attributes->maxThreadsPerBlock =
      static_cast<int>(std::min<std::uint32_t>(info.max_threads, max_threads_per_block));
  // hardware has no more per thread
  attributes->numRegs = static_cast<int>(std::min<std::uint32_t>(info.registers, 255));
  attributes->ptxVersion = target_of(*loaded->ptx);
  attributes->binaryVersion = compute_capability();
  const Kernel::OnDevice& here = kernel->on(current_device());
  attributes->clusterDimMustBeSet = info.needs_cluster || info.cluster ? 1 : 0;
  const Dim3 required =
      info.cluster.value_or(Dim3{static_cast<std::uint32_t>(here.required_cluster[0].load()),
                                 static_cast<std::uint32_t>(here.required_cluster[1].load()),
                                 static_cast<std::uint32_t>(here.required_cluster[2].load())});
  attributes->requiredClusterWidth = static_cast<int>(required.x);
  attributes->requiredClusterHeight = static_cast<int>(required.y);
  attributes->requiredClusterDepth = static_cast<int>(required.z);
  attributes->nonPortableClusterSizeAllowed = here.takes_large_clusters ? 1 : 0;
  attributes->maxDynamicSharedSizeBytes = here.max_dynamic_shared;
  attributes->preferredShmemCarveout = here.shared_carveout;
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* function, enum cudaFuncAttribute attribute, int value) {
  return set_attribute(function, attribute, value);
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attribute, int value,
                                            int device) {
  if (!is_device(device)) return cudaErrorInvalidDevice;
  const DeviceScope scope(device);
  return set_attribute(kernel, attribute, value);
}

cudaError_t cudaFuncSetCacheConfig(const void* function, enum cudaFuncCache) {
  return check_function(function);
}
cudaError_t cudaFuncSetSharedMemConfig(const void* function, enum cudaSharedMemConfig) {
  return check_function(function);
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  const Kernel* kernel = registry().find_kernel(function);
  if (name == nullptr) return cudaErrorInvalidValue;
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  *name = kernel->name.c_str();
  return cudaSuccess;
}

cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* bytes) {
  Kernel* kernel = nullptr;
  std::shared_ptr<const LoadedKernel> loaded;
  if (const cudaError_t error = load(function, kernel, loaded); error != cudaSuccess) return error;
  if (index >= loaded->info.parameters.size() || offset == nullptr) return cudaErrorInvalidValue;
  *offset = loaded->info.parameters[index].offset;
  if (bytes != nullptr) *bytes = loaded->info.parameters[index].bytes;
  return cudaSuccess;
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* handle, const void* symbol) {
  if (handle == nullptr) return cudaErrorInvalidValue;
  *handle = reinterpret_cast<cudaFunction_t>(registry().find_kernel(symbol));
  return *handle != nullptr ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t cudaGetKernel(cudaKernel_t* handle, const void* symbol) {
  if (handle == nullptr) return cudaErrorInvalidValue;
  *handle = reinterpret_cast<cudaKernel_t>(registry().find_kernel(symbol));
  return *handle != nullptr ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                          size_t shared_bytes) {
  return occupancy(blocks, function, threads, shared_bytes);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                                   int threads, size_t shared_bytes,
                                                                   unsigned int flags) {
  const bool known = flags == cudaOccupancyDefault || flags == cudaOccupancyDisableCachingOverride;
  return known ? occupancy(blocks, function, threads, shared_bytes) : cudaErrorInvalidValue;
}

namespace {

/// Returns the launch that a configuration describes, and its kernel.
cudaError_t take_configuration(const cudaLaunchConfig_t* configuration, const void* function, Launch& launch,
                               Kernel*& kernel, std::shared_ptr<const LoadedKernel>& loaded) {
  if (configuration == nullptr || (configuration->numAttrs != 0 && configuration->attrs == nullptr))
    return cudaErrorInvalidValue;
  const dim3& grid = configuration->gridDim;
  const dim3& block = configuration->blockDim;
  const unsigned grids[] = {grid.x, grid.y, grid.z};
  const unsigned blocks[] = {block.x, block.y, block.z};
  std::copy(std::begin(grids), std::end(grids), launch.grid);
  std::copy(std::begin(blocks), std::end(blocks), launch.block);
  launch.shared_bytes = static_cast<std::uint32_t>(configuration->dynamicSmemBytes);
  launch.attributes = configuration->attrs;
  launch.attribute_count = configuration->numAttrs;
  return load(function, kernel, loaded);
}

}  // namespace

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                           const cudaLaunchConfig_t* configuration) {
  if (clusters == nullptr) return cudaErrorInvalidValue;
  Launch launch;
  Kernel* kernel = nullptr;
  std::shared_ptr<const LoadedKernel> loaded;
  if (const cudaError_t error = take_configuration(configuration, function, launch, kernel, loaded);
      error != cudaSuccess)
    return error;
  if (const cudaError_t error = find_cluster(*kernel, loaded->info, launch); error != cudaSuccess)
    return error;
  *clusters = resident_clusters(loaded->info, launch);
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* blocks, const void* function,
                                                 const cudaLaunchConfig_t* configuration) {
  if (blocks == nullptr) return cudaErrorInvalidValue;
  Launch launch;
  Kernel* kernel = nullptr;
  std::shared_ptr<const LoadedKernel> loaded;
  if (const cudaError_t error = take_configuration(configuration, function, launch, kernel, loaded);
      error != cudaSuccess)
    return error;
  const KernelInfo& info = loaded->info;
  const auto threads = static_cast<int>(launch.threads_per_block());
  if (resident_blocks(info, threads, launch.shared_bytes) == 0) {
    *blocks = 0;
    return cudaSuccess;
  }
  std::uint32_t most =
      kernel->on(current_device()).takes_large_clusters ? most_cluster_blocks : most_portable_cluster_blocks;
  if (info.max_cluster_rank != 0) most = std::min(most, info.max_cluster_rank);
  if (info.cluster) most = info.cluster->x * info.cluster->y * info.cluster->z;
  *blocks = static_cast<int>(most);
  return cudaSuccess;
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* shared_bytes, const void* function, int blocks,
                                                      int threads) {
  if (shared_bytes == nullptr || blocks <= 0) return cudaErrorInvalidValue;
  int possible = 0;
  if (const cudaError_t error = occupancy(&possible, function, threads, 0); error != cudaSuccess)
    return error;
  if (blocks > possible) return cudaErrorInvalidValue;
  Kernel* kernel = nullptr;
  std::shared_ptr<const LoadedKernel> loaded;
  if (const cudaError_t error = load(function, kernel, loaded); error != cudaSuccess) return error;
  const int each =
      std::min(shared_per_multiprocessor / blocks - reserved_shared_per_block, optin_shared_limit);
  *shared_bytes = static_cast<size_t>(std::max(0, each - static_cast<int>(loaded->info.static_shared_bytes)));
  return cudaSuccess;
}

}  // namespace lynxpp::device::cpu::api
