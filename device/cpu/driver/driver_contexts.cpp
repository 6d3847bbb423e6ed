// cuInit, versions, errors, devices, contexts.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>

#include "device/cpu/driver/api.h"
#include "device/cpu/driver/contexts.h"
#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/devices.h"
#include "device/cpu/runtime/error.h"
#include "device/cpu/runtime/memory/allocations.h"
#include "device/cpu/runtime/process_use.h"
#include "device/cpu/runtime/properties.h"
#include "device/cpu/runtime/runtime.h"
#include "device/cpu/runtime/streams.h"
#include "device/cpu/simt/execute/executor.h"
#include "support/log.h"

namespace lynxpp::device::cpu::driver_api {
namespace {

struct DriverError {
  int code;
  const char* name;
  const char* text;
};

constexpr DriverError driver_errors[] = {
#define LYNXPP_DRIVER_ERROR(code, name, text) {code, #name, text},
#include "device/cpu/driver/errors.def"
#undef LYNXPP_DRIVER_ERROR
};

/// Stores `text` of the error, or null if the error is unknown.
CUresult store_text(CUresult error, const char** to, const char* DriverError::*text) {
  if (to == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto* const found = std::find_if(std::begin(driver_errors), std::end(driver_errors),
                                         [&](const DriverError& each) { return each.code == error; });
  *to = found != std::end(driver_errors) ? found->*text : nullptr;
  return *to != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult check_ordinal(CUdevice device) {
  return is_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

/// Returns an attribute that the runtime lacks; nullopt if the runtime has it.
std::optional<int> attribute_of_driver(CUdevice_attribute attribute) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED: return 1;
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_HANDLE_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK:
    case CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_MAXIMUM_LENGTH:
    case CU_DEVICE_ATTRIBUTE_HOST_ALLOC_DMA_BUF_SUPPORTED: return 0;
    default: return std::nullopt;
  }
}

int attribute_of_device(cudaDeviceAttr which) { return device_attribute(which).value_or(0); }

CUresult store_uuid(CUuuid* uuid, CUdevice device) {
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = check_ordinal(device); error != CUDA_SUCCESS) return error;
  std::memcpy(uuid->bytes, device_properties(device).uuid.bytes, sizeof uuid->bytes);
  return CUDA_SUCCESS;
}

/// Loads the tool library that CUDA_INJECTION64_PATH names, as the driver does.
void inject() {
  const char* const path = secure_getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr || *path == '\0') return;
  void* const library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  const auto initialize =
      reinterpret_cast<int (*)()>(library != nullptr ? dlsym(library, "InitializeInjection") : nullptr);
  if (initialize != nullptr && initialize() != 0) return;
  const char* const reason = initialize == nullptr ? dlerror() : "its InitializeInjection failed";
  log().warn("CUDA_INJECTION64_PATH: {}", reason != nullptr ? reason : path);
}

CUresult end_primary(CUdevice device) {
  if (const CUresult error = check_ordinal(device); error != CUDA_SUCCESS) return error;
  return contexts().release_primary(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult reset_primary(CUdevice device) {
  if (const CUresult error = check_ordinal(device); error != CUDA_SUCCESS) return error;
  contexts().reset_primary(device);
  return CUDA_SUCCESS;
}

constexpr unsigned known_context_flags = CU_CTX_SCHED_MASK | CU_CTX_MAP_HOST | CU_CTX_LMEM_RESIZE_TO_MAX |
                                         CU_CTX_COREDUMP_ENABLE | CU_CTX_USER_COREDUMP_ENABLE |
                                         CU_CTX_SYNC_MEMOPS;

CUresult set_primary_flags(CUdevice device, unsigned flags) {
  if (const CUresult error = check_ordinal(device); error != CUDA_SUCCESS) return error;
  if ((flags & ~known_context_flags) != 0) return CUDA_ERROR_INVALID_VALUE;
  contexts().set_primary_flags(device, flags);
  return CUDA_SUCCESS;
}

CUresult create_context(CUcontext* context, unsigned flags, CUdevice device) {
  if (context == nullptr || (flags & ~known_context_flags) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = check_ordinal(device); error != CUDA_SUCCESS) return error;
  *context = contexts().create(device, flags);
  push_context(*context);
  return CUDA_SUCCESS;
}

CUresult destroy_context(CUcontext context) {
  return contexts().destroy(context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult push(CUcontext context) {
  if (contexts().find(context) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  push_context(context);
  return CUDA_SUCCESS;
}

CUresult pop(CUcontext* context) {
  CUcontext const top = pop_context();
  if (top == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (context != nullptr) *context = top;
  return CUDA_SUCCESS;
}

/// Returns the device of a context; null means the current context.
CUresult store_device(CUdevice* device, CUcontext context) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = contexts().find(context != nullptr ? context : current_context());
  if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *device = found->device;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuInit(unsigned int flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (is_stranded()) return CUDA_ERROR_NOT_INITIALIZED;
  note_use_of_device();
  driver_initialized() = true;
  static std::atomic<bool> has_injected = false;
  if (!has_injected.exchange(true)) inject();
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char** name) {
  return store_text(error, name, &DriverError::name);
}
CUresult cuGetErrorString(CUresult error, const char** text) {
  return store_text(error, text, &DriverError::text);
}

// ---------------------------------------------------------------- the device

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = check_ordinal(ordinal); error != CUDA_SUCCESS) return error;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) { return result_of(api::cudaGetDeviceCount(count)); }

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = check_ordinal(device); error != CUDA_SUCCESS) return error;
  const std::string text = device_properties(device).name;
  const std::size_t kept = std::min(text.size(), static_cast<std::size_t>(length) - 1);
  std::memcpy(name, text.data(), kept);
  name[kept] = '\0';
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) { return store_uuid(uuid, device); }
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) { return store_uuid(uuid, device); }

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = check_ordinal(device); error != CUDA_SUCCESS) return error;
  *bytes = Allocations::total_bytes();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  const std::optional<int> own = attribute_of_driver(attribute);
  if (!own || value == nullptr || !is_device(device)) {
    // The runtime uses the same values.
    return result_of(api::cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device));
  }
  *value = *own;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetProperties(CUdevprop* properties, CUdevice device) {
  if (properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = check_ordinal(device); error != CUDA_SUCCESS) return error;
  const cudaDeviceProp all = device_properties(device);
  properties->maxThreadsPerBlock = all.maxThreadsPerBlock;
  std::copy(std::begin(all.maxThreadsDim), std::end(all.maxThreadsDim), properties->maxThreadsDim);
  std::copy(std::begin(all.maxGridSize), std::end(all.maxGridSize), properties->maxGridSize);
  properties->sharedMemPerBlock = static_cast<int>(all.sharedMemPerBlock);
  properties->totalConstantMemory = static_cast<int>(all.totalConstMem);
  properties->SIMDWidth = all.warpSize;
  properties->memPitch = static_cast<int>(all.memPitch);
  properties->regsPerBlock = all.regsPerBlock;
  properties->clockRate = attribute_of_device(cudaDevAttrClockRate);
  properties->textureAlign = static_cast<int>(all.textureAlignment);
  return CUDA_SUCCESS;
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = check_ordinal(device); error != CUDA_SUCCESS) return error;
  *major = attribute_of_device(cudaDevAttrComputeCapabilityMajor);
  *minor = attribute_of_device(cudaDevAttrComputeCapabilityMinor);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
  return result_of(api::cudaDeviceGetPCIBusId(text, length, device));
}
CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* text) {
  return result_of(api::cudaDeviceGetByPCIBusId(device, text));
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return result_of(api::cudaDeviceCanAccessPeer(can, device, peer));
}
CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice from, CUdevice to) {
  return result_of(
      api::cudaDeviceGetP2PAttribute(value, static_cast<cudaDeviceP2PAttr>(attribute), from, to));
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  return result_of(api::cudaDeviceGetDefaultMemPool(pool, device));
}
CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  return result_of(api::cudaDeviceGetMemPool(pool, device));
}
CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  return result_of(api::cudaDeviceSetMemPool(device, pool));
}

CUresult cuDeviceGetExecAffinitySupport(int* supported, CUexecAffinityType type, CUdevice device) {
  if (supported == nullptr || type != CU_EXEC_AFFINITY_TYPE_SM_COUNT) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = check_ordinal(device); error != CUDA_SUCCESS) return error;
  *supported = 0;
  return CUDA_SUCCESS;
}

// ---------------------------------------------------------------- primary context

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = check_ordinal(device); error != CUDA_SUCCESS) return error;
  *context = contexts().retain_primary(device);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) { return end_primary(device); }
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) { return end_primary(device); }
CUresult cuDevicePrimaryCtxReset(CUdevice device) { return reset_primary(device); }
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) { return reset_primary(device); }
CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags) {
  return set_primary_flags(device, flags);
}
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags) {
  return set_primary_flags(device, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = check_ordinal(device); error != CUDA_SUCCESS) return error;
  *flags = contexts().primary_flags(device);
  *active = contexts().primary_active(device) ? 1 : 0;
  return CUDA_SUCCESS;
}

// ---------------------------------------------------------------- contexts

CUresult cuCtxCreate_v2(CUcontext* context, unsigned int flags, CUdevice device) {
  return create_context(context, flags, device);
}

CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam*, int affinities, unsigned int flags,
                        CUdevice device) {
  if (affinities != 0) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  return create_context(context, flags, device);
}

CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* parameters, unsigned int flags,
                        CUdevice device) {
  if (parameters != nullptr && parameters->numExecAffinityParams != 0)
    return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  if (parameters != nullptr && parameters->cigParams != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  return create_context(context, flags, device);
}

CUresult cuCtxDestroy(CUcontext context) { return destroy_context(context); }
CUresult cuCtxDestroy_v2(CUcontext context) { return destroy_context(context); }
CUresult cuCtxPushCurrent(CUcontext context) { return push(context); }
CUresult cuCtxPushCurrent_v2(CUcontext context) { return push(context); }
CUresult cuCtxPopCurrent(CUcontext* context) { return pop(context); }
CUresult cuCtxPopCurrent_v2(CUcontext* context) { return pop(context); }

CUresult cuCtxSetCurrent(CUcontext context) {
  if (context != nullptr && contexts().find(context) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  set_current_context(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *context = current_context();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = contexts().find(context != nullptr ? context : current_context());
  if (found == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  *id = found->id;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext context, unsigned int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (contexts().find(context != nullptr ? context : current_context()) == nullptr)
    return CUDA_ERROR_INVALID_CONTEXT;
  constexpr unsigned newest = 3020;  // of cuCtxCreate_v2 and later, as in the driver
  *version = newest;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) { return store_device(device, nullptr); }
CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context) { return store_device(device, context); }

CUresult cuCtxGetFlags(unsigned int* flags) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  contexts().with(current_context(), [&](const Context& context) { *flags = context.flags; });
  return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned int flags) {
  if ((flags & ~known_context_flags) != 0) return CUDA_ERROR_INVALID_VALUE;
  contexts().with(current_context(), [&](Context& context) { context.flags = flags; });
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() { return result_of(api::cudaDeviceSynchronize()); }

CUresult cuCtxSynchronize_v2(CUcontext context) {
  const auto found = contexts().find(context != nullptr ? context : current_context());
  if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const DeviceScope scope(found->device);
  return result_of(api::cudaDeviceSynchronize());
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return result_of(api::cudaDeviceSetLimit(static_cast<cudaLimit>(limit), value));
}
CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  return result_of(api::cudaDeviceGetLimit(value, static_cast<cudaLimit>(limit)));
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* configuration) {
  return result_of(api::cudaDeviceGetCacheConfig(reinterpret_cast<cudaFuncCache*>(configuration)));
}
CUresult cuCtxSetCacheConfig(CUfunc_cache configuration) {
  return result_of(api::cudaDeviceSetCacheConfig(static_cast<cudaFuncCache>(configuration)));
}
CUresult cuCtxGetSharedMemConfig(CUsharedconfig* configuration) {
  return result_of(api::cudaDeviceGetSharedMemConfig(reinterpret_cast<cudaSharedMemConfig*>(configuration)));
}
CUresult cuCtxSetSharedMemConfig(CUsharedconfig configuration) {
  return result_of(api::cudaDeviceSetSharedMemConfig(static_cast<cudaSharedMemConfig>(configuration)));
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return result_of(api::cudaDeviceGetStreamPriorityRange(least, greatest));
}

CUresult cuCtxResetPersistingL2Cache() { return CUDA_SUCCESS; }

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
  const auto found = contexts().find(peer);
  if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const int device = current_device();
  if (found->device == device) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  if (!peer_access().enable(device, found->device)) return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  contexts().with(current_context(), [&](Context& context) { context.peers.insert(found->device); });
  return CUDA_SUCCESS;
}

CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  const auto found = contexts().find(peer);
  if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const CUresult result = result_of(api::cudaDeviceDisablePeerAccess(found->device));
  if (result == CUDA_SUCCESS)
    contexts().with(current_context(), [&](Context& context) { context.peers.erase(found->device); });
  return result;
}

CUresult cuProfilerStart() { return CUDA_SUCCESS; }
CUresult cuProfilerStop() { return CUDA_SUCCESS; }

}  // namespace lynxpp::device::cpu::driver_api
