// Memory: allocation, host memory, pools, queries about pointers.
#include "device/cpu/driver/api.h"
#include "device/cpu/driver/contexts.h"
#include "device/cpu/driver/virtual_memory.h"
#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/devices.h"
#include "device/cpu/runtime/memory/allocations.h"
#include "device/cpu/runtime/streams.h"

namespace lynxpp::device::cpu::driver_api {
namespace {

void* pointer_of(CUdeviceptr address) { return reinterpret_cast<void*>(address); }
CUdeviceptr address_of(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

/// Records that the current context owns the memory, which is freed with it.
CUresult owned(cudaError_t error, void* pointer) {
  if (error == cudaSuccess && pointer != nullptr)
    contexts().with(current_context(), [&](Context& context) { context.memory.insert(pointer); });
  return result_of(error);
}

CUresult owned(cudaError_t error, void* pointer, CUdeviceptr* address) {
  if (error == cudaSuccess) *address = address_of(pointer);
  return owned(error, pointer);
}

/// Calls `free`, and forgets the pointer if that succeeds.
template <typename Free>
CUresult freed(void* pointer, Free free) {
  const CUresult result = result_of(free());
  if (result == CUDA_SUCCESS) contexts().with_all([&](Context& context) { context.memory.erase(pointer); });
  return result;
}

CUresult register_memory(void* pointer, size_t bytes, unsigned flags) {
  return result_of(api::cudaHostRegister(pointer, bytes, flags));
}

cudaMemLocation location_of(const CUmemLocation& location) {
  cudaMemLocation same{};
  same.type = static_cast<cudaMemLocationType>(location.type);
  same.id = location.id;
  return same;
}

CUmemorytype type_of(const Allocation& allocation) {
  return allocation.is_device_only() || allocation.kind == MemoryKind::managed ? CU_MEMORYTYPE_DEVICE
                                                                               : CU_MEMORYTYPE_HOST;
}

template <typename T>
CUresult store(void* to, T value) {
  *static_cast<T*>(to) = value;
  return CUDA_SUCCESS;
}

/// Returns the context that allocated the memory, or else one of its device.
CUcontext context_of(const Allocation& allocation) {
  CUcontext owner = nullptr;
  contexts().with_all([&](Context& context) {
    if (context.memory.contains(allocation.pointer())) owner = reinterpret_cast<CUcontext>(&context);
  });
  if (owner != nullptr) return owner;
  return allocation.device == current_device() ? current_context()
                                               : contexts().primary_of_runtime(allocation.device);
}

/// Returns the handle types by which mapped memory may be exported.
unsigned long long handle_types_at(CUdeviceptr address) {
  CUmemGenericAllocationHandle handle = 0;
  if (virtual_memory().retain(address, &handle) != CUDA_SUCCESS) return CU_MEM_HANDLE_TYPE_NONE;
  CUmemAllocationProp properties{};
  virtual_memory().properties_of(handle, &properties);
  virtual_memory().release(handle);
  return properties.requestedHandleTypes;
}

CUresult attribute_of(void* data, CUpointer_attribute attribute, CUdeviceptr address,
                      const Allocation& allocation) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: return store(data, context_of(allocation));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: return store(data, type_of(allocation));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return store(data, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return allocation.is_device_only() ? CUDA_ERROR_INVALID_VALUE : store(data, pointer_of(address));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: return store(data, 0u);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: return store<unsigned long long>(data, allocation.number + 1);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return store(data, allocation.kind == MemoryKind::managed ? 1u : 0u);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return store(data, allocation.device);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: return store(data, 0);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return store<CUdeviceptr>(data, allocation.address);
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return store<size_t>(data, allocation.bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED: return store(data, 1);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return store<unsigned long long>(data, handle_types_at(address));
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: return store(data, 0);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: return store(data, static_cast<CUmemoryPool>(allocation.pool));
    default: return CUDA_ERROR_NOT_SUPPORTED;
  }
}

/// Stores the value that cuPointerGetAttributes returns for an unknown pointer.
void store_unknown(void* data, CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: store(data, -2); break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: store(data, 0); break;
    default: store<unsigned long long>(data, 0); break;
  }
}

}  // namespace

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) { return result_of(api::cudaMemGetInfo(free, total)); }

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  void* pointer = nullptr;
  const cudaError_t error = api::cudaMalloc(&pointer, bytes);
  return owned(error, pointer, address);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width, size_t height,
                            unsigned int element_bytes) {
  const bool known = element_bytes == 4 || element_bytes == 8 || element_bytes == 16;
  if (address == nullptr || pitch == nullptr || width == 0 || height == 0 || !known)
    return CUDA_ERROR_INVALID_VALUE;
  void* pointer = nullptr;
  const cudaError_t error = api::cudaMallocPitch(&pointer, pitch, width, height);
  return owned(error, pointer, address);
}

CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned int flags) {
  if (address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  void* pointer = nullptr;
  const cudaError_t error = api::cudaMallocManaged(&pointer, bytes, flags);
  return owned(error, pointer, address);
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  return freed(pointer_of(address), [&] { return api::cudaFree(pointer_of(address)); });
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  const auto found = allocations().find(pointer_of(address));
  if (!found) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = found->address;
  if (bytes != nullptr) *bytes = found->bytes;
  return CUDA_SUCCESS;
}

// ---------------------------------------------------------------- stream-ordered allocation

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  void* pointer = nullptr;
  const cudaError_t error = api::cudaMallocAsync(&pointer, bytes, stream);
  return owned(error, pointer, address);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream stream) {
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  void* pointer = nullptr;
  const cudaError_t error = api::cudaMallocFromPoolAsync(&pointer, bytes, pool, stream);
  return owned(error, pointer, address);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  return freed(pointer_of(address), [&] { return api::cudaFreeAsync(pointer_of(address), stream); });
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  if (pool == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaMemPoolProps same{};
  same.allocType = static_cast<cudaMemAllocationType>(properties->allocType);
  same.handleTypes = static_cast<cudaMemAllocationHandleType>(properties->handleTypes);
  same.location = location_of(properties->location);
  same.maxSize = properties->maxSize;
  return result_of(api::cudaMemPoolCreate(pool, &same));
}
CUresult cuMemPoolDestroy(CUmemoryPool pool) { return result_of(api::cudaMemPoolDestroy(pool)); }
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes) {
  return result_of(api::cudaMemPoolTrimTo(pool, bytes));
}
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* wanted, size_t count) {
  // The structures have the same members with the same values.
  static_assert(sizeof(CUmemAccessDesc) == sizeof(cudaMemAccessDesc));
  return result_of(
      api::cudaMemPoolSetAccess(pool, reinterpret_cast<const cudaMemAccessDesc*>(wanted), count));
}
CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool, CUmemLocation* location) {
  if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaMemLocation same = location_of(*location);
  return result_of(api::cudaMemPoolGetAccess(reinterpret_cast<cudaMemAccessFlags*>(flags), pool, &same));
}
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return result_of(api::cudaMemPoolSetAttribute(pool, static_cast<cudaMemPoolAttr>(attribute), value));
}
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return result_of(api::cudaMemPoolGetAttribute(pool, static_cast<cudaMemPoolAttr>(attribute), value));
}

// ---------------------------------------------------------------- host memory

CUresult cuMemAllocHost_v2(void** pointer, size_t bytes) {
  if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const cudaError_t error = api::cudaMallocHost(pointer, bytes);
  return owned(error, *pointer);
}

CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
  if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const cudaError_t error = api::cudaHostAlloc(pointer, bytes, flags);
  return owned(error, error == cudaSuccess ? *pointer : nullptr);
}

CUresult cuMemFreeHost(void* pointer) {
  if (pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return freed(pointer, [&] { return api::cudaFreeHost(pointer); });
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* pointer, unsigned int flags) {
  if (address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  void* on_device = nullptr;
  const cudaError_t error = api::cudaHostGetDevicePointer(&on_device, pointer, flags);
  if (error == cudaSuccess) *address = address_of(on_device);
  return result_of(error);
}

CUresult cuMemHostGetFlags(unsigned int* flags, void* pointer) {
  return result_of(api::cudaHostGetFlags(flags, pointer));
}

CUresult cuMemHostRegister(void* pointer, size_t bytes, unsigned int flags) {
  return register_memory(pointer, bytes, flags);
}
CUresult cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned int flags) {
  return register_memory(pointer, bytes, flags);
}
CUresult cuMemHostUnregister(void* pointer) { return result_of(api::cudaHostUnregister(pointer)); }

// ---------------------------------------------------------------- advice

CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location) {
  return result_of(api::cudaMemAdvise(pointer_of(address), bytes, static_cast<cudaMemoryAdvise>(advice),
                                      location_of(location)));
}
CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned int flags,
                               CUstream stream) {
  return result_of(
      api::cudaMemPrefetchAsync(pointer_of(address), bytes, location_of(location), flags, stream));
}
CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr address, size_t bytes, unsigned int flags) {
  return result_of(api::cudaStreamAttachMemAsync(stream, pointer_of(address), bytes, flags));
}

// ---------------------------------------------------------------- pointers

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = allocations().find(pointer_of(address));
  return found ? attribute_of(data, attribute, address, *found) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr address) {
  if (count == 0 || attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = allocations().find(pointer_of(address));
  for (unsigned i = 0; i < count; ++i) {
    if (!found || attribute_of(data[i], attributes[i], address, *found) != CUDA_SUCCESS)
      store_unknown(data[i], attributes[i]);
  }
  return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  const bool known = attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS;
  if (value == nullptr || !known || !allocations().find(pointer_of(address))) return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

}  // namespace lynxpp::device::cpu::driver_api
