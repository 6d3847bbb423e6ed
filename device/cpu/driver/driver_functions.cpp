// Kernels: their attributes, occupancy, launches.
#include <algorithm>

#include "device/cpu/driver/api.h"
#include "device/cpu/driver/contexts.h"
#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/devices.h"
#include "device/cpu/runtime/launch.h"
#include "device/cpu/runtime/modules/loaded_images.h"
#include "device/cpu/runtime/properties.h"

namespace lynxpp::device::cpu::driver_api {
namespace {

CUresult store_attribute(int* value, CUfunction_attribute attribute, const void* kernel) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaFuncAttributes all;
  if (const cudaError_t error = api::cudaFuncGetAttributes(&all, kernel); error != cudaSuccess)
    return result_of(error);
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = all.maxThreadsPerBlock; break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = static_cast<int>(all.sharedSizeBytes); break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = static_cast<int>(all.constSizeBytes); break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = static_cast<int>(all.localSizeBytes); break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = all.numRegs; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = all.ptxVersion; break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = all.binaryVersion; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = all.maxDynamicSharedSizeBytes; break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = all.preferredShmemCarveout; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: *value = all.clusterDimMustBeSet; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH: *value = all.requiredClusterWidth; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT: *value = all.requiredClusterHeight; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: *value = all.requiredClusterDepth; break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      *value = all.nonPortableClusterSizeAllowed;
      break;
    // caching and scheduling cannot be chosen
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: *value = 0; break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult set_attribute_of(const void* kernel, CUfunction_attribute attribute, int value) {
  // The runtime uses the same values.
  return result_of(api::cudaFuncSetAttribute(kernel, static_cast<cudaFuncAttribute>(attribute), value));
}

CUresult check_kernel(const void* kernel) {
  return registry().find_kernel(kernel) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult store_name(const char** name, const void* kernel) {
  return result_of(api::cudaFuncGetName(name, kernel));
}

/// Returns the module or library of a kernel.
template <typename Handle>
CUresult store_owner(Handle* owner, const void* handle) {
  if (owner == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Kernel* const kernel = registry().find_kernel(handle);
  LoadedImage* const found = kernel != nullptr ? loaded_images().owner_of(kernel) : nullptr;
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *owner = reinterpret_cast<Handle>(found);
  return CUDA_SUCCESS;
}

CUresult store_parameter(const void* kernel, size_t index, size_t* offset, size_t* bytes) {
  return result_of(api::cudaFuncGetParamInfo(kernel, index, offset, bytes));
}

/// Finds the multiple of a warp with which most threads are resident.
CUresult best_block(int* least_grid, int* block, CUfunction function, CUoccupancyB2DSize shared_of,
                    size_t shared_bytes, int limit) {
  if (least_grid == nullptr || block == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaFuncAttributes attributes;
  if (const cudaError_t error = api::cudaFuncGetAttributes(&attributes, function); error != cudaSuccess)
    return result_of(error);
  constexpr int warp = 32;
  int most = attributes.maxThreadsPerBlock;
  if (limit > 0) most = std::min(most, limit);
  int best_threads = 0;
  int best_blocks = 0;
  for (int threads = (most + warp - 1) / warp * warp; threads > 0; threads -= warp) {
    const int tried = std::min(threads, most);
    const size_t shared = shared_of != nullptr ? shared_of(tried) : shared_bytes;
    int blocks = 0;
    const cudaError_t error =
        api::cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, tried, shared);
    if (error != cudaSuccess) return result_of(error);
    if (blocks * tried <= best_blocks * best_threads) continue;
    best_threads = tried;
    best_blocks = blocks;
  }
  *block = best_threads;
  *least_grid = best_blocks * device_attribute(cudaDevAttrMultiProcessorCount).value_or(1);
  return CUDA_SUCCESS;
}

CUresult launch_function(CUfunction function, const CUlaunchConfig& config, void** parameters, void** extra,
                         bool cooperative) {
  Kernel* const kernel = registry().find_kernel(function);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (parameters != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  Launch launch;
  const unsigned grid[] = {config.gridDimX, config.gridDimY, config.gridDimZ};
  const unsigned block[] = {config.blockDimX, config.blockDimY, config.blockDimZ};
  std::copy(std::begin(grid), std::end(grid), launch.grid);
  std::copy(std::begin(block), std::end(block), launch.block);
  launch.shared_bytes = config.sharedMemBytes;
  launch.stream = config.hStream;
  launch.cooperative = cooperative;
  launch.parameters = parameters;
  launch.extra = extra;
  launch.attributes = config.attrs;
  launch.attribute_count = config.numAttrs;
  // Instrumentation intercepts the driver API, so it sees this launch there.
  return result_of(launch_kernel(*kernel, launch, Interception::none));
}

}  // namespace

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  return store_attribute(value, attribute, function);
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  return set_attribute_of(function, attribute, value);
}
CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache) { return check_kernel(function); }
CUresult cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig) { return check_kernel(function); }
CUresult cuFuncGetModule(CUmodule* module, CUfunction function) { return store_owner(module, function); }
CUresult cuFuncGetName(const char** name, CUfunction function) { return store_name(name, function); }
CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* bytes) {
  return store_parameter(function, index, offset, bytes);
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return check_kernel(function);
}
CUresult cuFuncLoad(CUfunction function) { return check_kernel(function); }

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = check_kernel(kernel); error != CUDA_SUCCESS) return error;
  if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}

CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel kernel) { return store_owner(library, kernel); }
CUresult cuKernelGetName(const char** name, CUkernel kernel) { return store_name(name, kernel); }
CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* bytes) {
  return store_parameter(kernel, index, offset, bytes);
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  const DeviceScope scope(device);
  return store_attribute(value, attribute, kernel);
}
CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  const DeviceScope scope(device);
  return set_attribute_of(kernel, attribute, value);
}
CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache, CUdevice device) {
  return is_device(device) ? check_kernel(kernel) : CUDA_ERROR_INVALID_DEVICE;
}

// ---------------------------------------------------------------- occupancy

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                     size_t shared_bytes) {
  return result_of(
      api::cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared_bytes));
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function, int threads,
                                                              size_t shared_bytes, unsigned int flags) {
  return result_of(api::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads,
                                                                               shared_bytes, flags));
}

CUresult cuOccupancyMaxPotentialBlockSize(int* least_grid, int* block, CUfunction function,
                                          CUoccupancyB2DSize shared_of, size_t shared_bytes, int limit) {
  return best_block(least_grid, block, function, shared_of, shared_bytes, limit);
}
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* least_grid, int* block, CUfunction function,
                                                   CUoccupancyB2DSize shared_of, size_t shared_bytes,
                                                   int limit, unsigned int flags) {
  if (flags != CU_OCCUPANCY_DEFAULT && flags != CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
    return CUDA_ERROR_INVALID_VALUE;
  return best_block(least_grid, block, function, shared_of, shared_bytes, limit);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* shared_bytes, CUfunction function, int blocks,
                                                 int threads) {
  return result_of(api::cudaOccupancyAvailableDynamicSMemPerBlock(shared_bytes, function, blocks, threads));
}

namespace {

cudaLaunchConfig_t configuration_of(const CUlaunchConfig& config) {
  static_assert(sizeof(CUlaunchAttribute) == sizeof(cudaLaunchAttribute));
  cudaLaunchConfig_t same{};
  same.gridDim = {config.gridDimX, config.gridDimY, config.gridDimZ};
  same.blockDim = {config.blockDimX, config.blockDimY, config.blockDimZ};
  same.dynamicSmemBytes = config.sharedMemBytes;
  same.stream = config.hStream;
  same.attrs = reinterpret_cast<cudaLaunchAttribute*>(config.attrs);
  same.numAttrs = config.numAttrs;
  return same;
}

}  // namespace

CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function, const CUlaunchConfig* config) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaLaunchConfig_t same = configuration_of(*config);
  return result_of(api::cudaOccupancyMaxActiveClusters(clusters, function, &same));
}
CUresult cuOccupancyMaxPotentialClusterSize(int* blocks, CUfunction function, const CUlaunchConfig* config) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaLaunchConfig_t same = configuration_of(*config);
  return result_of(api::cudaOccupancyMaxPotentialClusterSize(blocks, function, &same));
}

// ---------------------------------------------------------------- launches

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z,
                        unsigned int shared_bytes, CUstream stream, void** parameters, void** extra) {
  return launch_function(
      function, {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, nullptr, 0},
      parameters, extra, false);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra) {
  if (config == nullptr || (config->numAttrs != 0 && config->attrs == nullptr))
    return CUDA_ERROR_INVALID_VALUE;
  bool cooperative = false;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) cooperative = attribute.value.cooperative != 0;
  }
  return launch_function(function, *config, parameters, extra, cooperative);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                   unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                                   void** parameters) {
  return launch_function(
      function, {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, nullptr, 0},
      parameters, nullptr, true);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  return result_of(api::cudaLaunchHostFunc(stream, function, data));
}

}  // namespace lynxpp::device::cpu::driver_api
