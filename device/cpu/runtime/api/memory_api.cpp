// Allocation, host memory, pointer attributes.
#include <limits>

#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/call_scopes.h"
#include "device/cpu/runtime/device_limits.h"
#include "device/cpu/runtime/devices.h"
#include "device/cpu/runtime/error.h"
#include "device/cpu/runtime/graphs/graph_memory.h"
#include "device/cpu/runtime/memory/allocations.h"
#include "device/cpu/runtime/memory/memory_pools.h"
#include "device/cpu/runtime/streams.h"

namespace lynxpp::device::cpu::api {
namespace {

cudaError_t allocate(void** pointer, size_t bytes, MemoryKind kind, unsigned flags = 0,
                     void* pool = nullptr) {
  return pointer != nullptr ? allocations().allocate(pointer, bytes, kind, flags, pool)
                            : cudaErrorInvalidValue;
}

cudaError_t allocate_pitched(void** pointer, size_t* pitch, size_t width, size_t height, size_t depth) {
  if (pointer == nullptr || pitch == nullptr) return cudaErrorInvalidValue;
  constexpr size_t limit = std::numeric_limits<size_t>::max() / 2;
  if (width > limit) return cudaErrorMemoryAllocation;
  *pitch = (width + allocation_pitch - 1) / allocation_pitch * allocation_pitch;
  if (width == 0 || height == 0 || depth == 0) {
    *pointer = nullptr;
    return cudaSuccess;
  }
  if (height > limit / *pitch || depth > limit / *pitch / height) return cudaErrorMemoryAllocation;
  return allocations().allocate(pointer, *pitch * height * depth, MemoryKind::device);
}

/// Allocates in stream order. If memory is exhausted, waits for pending frees and retries.
cudaError_t allocate_in_order(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  if (const cudaError_t error = streams().admit(stream); error != cudaSuccess) return error;
  if (pointer == nullptr) return cudaErrorInvalidValue;
  const DeviceScope device(memory_pools().device_of(pool).value_or(current_device()));
  if (bytes != 0 && streams().capturing(stream)) return capture_allocation(pointer, bytes, pool, stream);
  const cudaError_t error = allocate(pointer, bytes, MemoryKind::device, 0, pool);
  if (error != cudaErrorMemoryAllocation) return error;
  streams().wait_for_all();
  return allocate(pointer, bytes, MemoryKind::device, 0, pool);
}

bool is_host(MemoryKind kind) {
  return kind == MemoryKind::pinned_host || kind == MemoryKind::registered_host;
}

/// Checks that [pointer, pointer + bytes) is managed memory.
cudaError_t check_managed(const void* pointer, size_t bytes) {
  const auto found = allocations().find(pointer);
  if (!found || found->kind != MemoryKind::managed) return cudaErrorInvalidValue;
  const size_t offset = reinterpret_cast<std::uintptr_t>(pointer) - found->address;
  return bytes != 0 && bytes <= found->bytes - offset ? cudaSuccess : cudaErrorInvalidValue;
}

bool known_location(const cudaMemLocation& location) {
  switch (location.type) {
    case cudaMemLocationTypeDevice: return is_device(location.id);
    case cudaMemLocationTypeHost:
    case cudaMemLocationTypeHostNuma:
    case cudaMemLocationTypeHostNumaCurrent: return true;
    default: return false;
  }
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, size_t bytes) { return allocate(pointer, bytes, MemoryKind::device); }
cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return allocate(pointer, bytes, MemoryKind::pinned_host);
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
  constexpr unsigned known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
  return (flags & ~known) == 0 ? allocate(pointer, bytes, MemoryKind::pinned_host, flags)
                               : cudaErrorInvalidValue;
}

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned int flags) {
  if (bytes == 0 || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost))
    return cudaErrorInvalidValue;
  return allocate(pointer, bytes, MemoryKind::managed, flags);
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return allocate_pitched(pointer, pitch, width, height, 1);
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr* pitched, struct cudaExtent extent) {
  if (pitched == nullptr) return cudaErrorInvalidValue;
  pitched->xsize = extent.width;
  pitched->ysize = extent.height;
  return allocate_pitched(&pitched->ptr, &pitched->pitch, extent.width, extent.height, extent.depth);
}

// Freeing waits for all work that may use the memory, as in CUDA.

cudaError_t cudaFree(void* pointer) {
  if (pointer == nullptr) return cudaSuccess;
  if (CallbackScope::active()) return cudaErrorNotPermitted;
  streams().wait_for_all();
  const cudaError_t error = allocations().release(pointer, MemoryKind::device, MemoryKind::managed);
  return error != cudaSuccess ? error : sticky_error();
}

cudaError_t cudaFreeHost(void* pointer) {
  if (pointer == nullptr) return cudaSuccess;
  if (CallbackScope::active()) return cudaErrorNotPermitted;
  streams().wait_for_all();
  const cudaError_t error = allocations().release(pointer, MemoryKind::pinned_host, MemoryKind::pinned_host);
  return error != cudaSuccess ? error : sticky_error();
}

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  const auto found = streams().find(stream);
  if (found == nullptr) return cudaErrorInvalidResourceHandle;
  return allocate_in_order(pointer, bytes, memory_pools().current(found->device), stream);
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  if (!memory_pools().is_pool(pool)) return cudaErrorInvalidValue;
  return allocate_in_order(pointer, bytes, pool, stream);
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  if (const cudaError_t error = streams().admit(stream); error != cudaSuccess || pointer == nullptr)
    return error;
  if (streams().capturing(stream)) return capture_free(pointer, stream);
  std::uint64_t number = 0;
  const cudaError_t error = allocations().retire(pointer, MemoryKind::device, MemoryKind::managed, number);
  if (error != cudaSuccess) return error;
  return streams().enqueue_brief(stream,
                                 [pointer, number] { allocations().release_retired(pointer, number); });
}

// ---------------------------------------------------------------- host memory

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned int flags) {
  constexpr unsigned known =
      cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (pointer == nullptr || bytes == 0 || (flags & ~known) != 0 || address + bytes < address)
    return cudaErrorInvalidValue;
  Allocation registered{address, bytes, MemoryKind::registered_host, flags};
  registered.device = current_device();
  const bool added = allocations().add_foreign(registered);
  return added ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered;
}

cudaError_t cudaHostUnregister(void* pointer) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  if (CallbackScope::active()) return cudaErrorNotPermitted;
  streams().wait_for_all();
  const bool removed = allocations().remove_foreign(pointer, MemoryKind::registered_host);
  return removed ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
}

cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* pointer, unsigned int flags) {
  if (device_pointer == nullptr || flags != 0) return cudaErrorInvalidValue;
  const auto found = allocations().find(pointer);
  if (!found || !is_host(found->kind)) return cudaErrorInvalidValue;
  *device_pointer = pointer;
  return cudaSuccess;
}

cudaError_t cudaHostGetFlags(unsigned int* flags, void* pointer) {
  if (flags == nullptr) return cudaErrorInvalidValue;
  const auto found = allocations().find(pointer);
  if (!found || !is_host(found->kind)) return cudaErrorInvalidValue;
  // With unified addressing, all pinned memory is mapped.
  *flags = found->flags | cudaHostAllocMapped;
  return cudaSuccess;
}

// ---------------------------------------------------------------- queries and advice

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  if (free == nullptr || total == nullptr) return cudaErrorInvalidValue;
  *total = Allocations::total_bytes();
  *free = *total - allocations().used_bytes(current_device());
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes* attributes, const void* pointer) {
  if (attributes == nullptr) return cudaErrorInvalidValue;
  *attributes = {};
  const auto found = allocations().find(pointer);
  void* const both = const_cast<void*>(pointer);
  if (!found) {
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = cudaInvalidDeviceId;
    attributes->hostPointer = both;
    return cudaSuccess;
  }
  attributes->device = found->device;
  attributes->devicePointer = both;
  attributes->hostPointer = found->is_device_only() ? nullptr : both;
  attributes->type = found->kind == MemoryKind::managed ? cudaMemoryTypeManaged
                     : found->is_device_only()          ? cudaMemoryTypeDevice
                                                        : cudaMemoryTypeHost;
  return cudaSuccess;
}

// Host and devices share one memory, so prefetches and advice have no effect.

cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, struct cudaMemLocation location,
                                 unsigned int flags, cudaStream_t stream) {
  if (flags != 0) return cudaErrorInvalidValue;
  if (!known_location(location)) return cudaErrorInvalidDevice;
  if (const cudaError_t error = streams().admit(stream); error != cudaSuccess) return error;
  return check_managed(pointer, bytes);
}

cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, enum cudaMemoryAdvise advice,
                          struct cudaMemLocation location) {
  if (advice < cudaMemAdviseSetReadMostly || advice > cudaMemAdviseUnsetAccessedBy)
    return cudaErrorInvalidValue;
  const bool needs_location = advice >= cudaMemAdviseSetPreferredLocation;
  const bool is_unset = advice == cudaMemAdviseUnsetPreferredLocation;
  if (needs_location && !is_unset && !known_location(location)) return cudaErrorInvalidDevice;
  return check_managed(pointer, bytes);
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, size_t, unsigned int flags) {
  if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost && flags != cudaMemAttachSingle)
    return cudaErrorInvalidValue;
  if (const cudaError_t error = streams().admit(stream); error != cudaSuccess) return error;
  const auto found = allocations().find(pointer);
  return found && found->kind == MemoryKind::managed ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace lynxpp::device::cpu::api
