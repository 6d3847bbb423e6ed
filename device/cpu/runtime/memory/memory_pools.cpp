#include "device/cpu/runtime/memory/memory_pools.h"

#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/memory/allocations.h"

namespace lynxpp::device::cpu {

MemoryPools& memory_pools() {
  static auto* const pools = new MemoryPools;
  return *pools;
}

MemoryPools::MemoryPools() {
  for (int device = 0; device < device_count(); ++device)
    default_[static_cast<std::size_t>(device)] = create(device);
  current_ = default_;
}

cudaMemPool_t MemoryPools::create(int device) {
  const std::lock_guard lock(mutex_);
  auto pool = std::make_unique<Pool>();
  pool->device = device;
  auto* handle = reinterpret_cast<cudaMemPool_t>(pool.get());
  pools_[handle] = std::move(pool);
  return handle;
}

bool MemoryPools::destroy(cudaMemPool_t pool) {
  const std::lock_guard lock(mutex_);
  const auto found = pools_.find(pool);
  if (found == pools_.end()) return false;
  const auto device = static_cast<std::size_t>(found->second->device);
  if (pool == default_[device]) return false;
  pools_.erase(found);
  if (current_[device] == pool) current_[device] = default_[device];
  return true;
}

std::optional<int> MemoryPools::device_of(cudaMemPool_t pool) {
  const std::lock_guard lock(mutex_);
  const auto found = pools_.find(pool);
  return found != pools_.end() ? std::optional(found->second->device) : std::nullopt;
}

cudaMemPool_t MemoryPools::current(int device) {
  const std::lock_guard lock(mutex_);
  return current_[static_cast<std::size_t>(device)];
}

bool MemoryPools::set_current(int device, cudaMemPool_t pool) {
  const std::lock_guard lock(mutex_);
  const auto found = pools_.find(pool);
  if (found == pools_.end() || found->second->device != device) return false;
  current_[static_cast<std::size_t>(device)] = pool;
  return true;
}

cudaError_t MemoryPools::get(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  const std::lock_guard lock(mutex_);
  const auto found = pools_.find(handle);
  if (found == pools_.end() || value == nullptr) return cudaErrorInvalidValue;
  const auto use = allocations().pool_use(handle);
  auto* wide = static_cast<std::uint64_t*>(value);
  switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
      *static_cast<int*>(value) = found->second->reuse[attribute - cudaMemPoolReuseFollowEventDependencies];
      return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold: *wide = found->second->release_threshold; return cudaSuccess;
    case cudaMemPoolAttrReservedMemCurrent:
    case cudaMemPoolAttrUsedMemCurrent: *wide = use.current; return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh:
    case cudaMemPoolAttrUsedMemHigh: *wide = use.high; return cudaSuccess;
    default: return cudaErrorInvalidValue;
  }
}

cudaError_t MemoryPools::set(cudaMemPool_t handle, cudaMemPoolAttr attribute, const void* value) {
  const std::lock_guard lock(mutex_);
  const auto found = pools_.find(handle);
  if (found == pools_.end() || value == nullptr) return cudaErrorInvalidValue;
  const auto* wide = static_cast<const std::uint64_t*>(value);
  switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
      found->second->reuse[attribute - cudaMemPoolReuseFollowEventDependencies] =
          *static_cast<const int*>(value) != 0;
      return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold: found->second->release_threshold = *wide; return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh:
    case cudaMemPoolAttrUsedMemHigh:
      if (*wide != 0) return cudaErrorInvalidValue;  // high-water marks can only be reset
      allocations().reset_pool_high(handle);
      return cudaSuccess;
    default: return cudaErrorInvalidValue;
  }
}

namespace api {

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  if (pool == nullptr) return cudaErrorInvalidValue;
  if (!is_device(device)) return cudaErrorInvalidDevice;
  *pool = memory_pools().default_pool(device);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  if (pool == nullptr) return cudaErrorInvalidValue;
  if (!is_device(device)) return cudaErrorInvalidDevice;
  *pool = memory_pools().current(device);
  return cudaSuccess;
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  if (!is_device(device)) return cudaErrorInvalidDevice;
  return memory_pools().set_current(device, pool) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const struct cudaMemPoolProps* properties) {
  if (pool == nullptr || properties == nullptr || properties->allocType != cudaMemAllocationTypePinned) {
    return cudaErrorInvalidValue;
  }
  const bool is_of_device = properties->location.type == cudaMemLocationTypeDevice;
  if (is_of_device && !is_device(properties->location.id)) return cudaErrorInvalidDevice;
  // Memory shared between processes is not supported.
  if (properties->handleTypes != cudaMemHandleTypeNone) return cudaErrorNotSupported;
  *pool = memory_pools().create(is_of_device ? properties->location.id : current_device());
  return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return memory_pools().destroy(pool) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void* value) {
  return memory_pools().set(pool, attribute, value);
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void* value) {
  return memory_pools().get(pool, attribute, value);
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
  // pools keep no reserve
  return memory_pools().is_pool(pool) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc* wanted, size_t count) {
  const std::optional<int> own = memory_pools().device_of(pool);
  if (!own || (wanted == nullptr && count != 0)) return cudaErrorInvalidValue;
  std::uint32_t access = allocations().pool_access(pool);
  for (size_t i = 0; i < count; ++i) {
    const cudaMemAccessDesc& each = wanted[i];
    if (each.location.type != cudaMemLocationTypeDevice) return cudaErrorInvalidValue;
    if (!is_device(each.location.id)) return cudaErrorInvalidDevice;
    const bool is_revoked = each.flags == cudaMemAccessFlagsProtNone;
    // A device always accesses its own memory, and access is either read and write or none.
    if ((!is_revoked && each.flags != cudaMemAccessFlagsProtReadWrite) ||
        (is_revoked && each.location.id == *own))
      return cudaErrorInvalidValue;
    const std::uint32_t bit = std::uint32_t{1} << each.location.id;
    access = is_revoked ? access & ~bit : access | bit;
  }
  allocations().set_pool_access(pool, access);
  return cudaSuccess;
}

cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags* flags, cudaMemPool_t pool,
                                 struct cudaMemLocation* location) {
  const std::optional<int> own = memory_pools().device_of(pool);
  if (!own || flags == nullptr || location == nullptr || location->type != cudaMemLocationTypeDevice)
    return cudaErrorInvalidValue;
  if (!is_device(location->id)) return cudaErrorInvalidDevice;
  const bool may = location->id == *own || (allocations().pool_access(pool) >> location->id & 1) != 0;
  *flags = may ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone;
  return cudaSuccess;
}

}  // namespace api
}  // namespace lynxpp::device::cpu
