#include "device/cpu/runtime/memory_pools.h"

#include "device/cpu/runtime/allocations.h"
#include "device/cpu/runtime/api.h"

namespace lynxpp::device::cpu {

MemoryPools& memory_pools() {
  static auto* const pools = new MemoryPools;
  return *pools;
}

MemoryPools::MemoryPools() : default_(create()), current_(default_) {}

cudaMemPool_t MemoryPools::create() {
  const std::lock_guard lock(mutex_);
  auto pool = std::make_unique<Pool>();
  auto* handle = reinterpret_cast<cudaMemPool_t>(pool.get());
  pools_[handle] = std::move(pool);
  return handle;
}

bool MemoryPools::destroy(cudaMemPool_t pool) {
  const std::lock_guard lock(mutex_);
  if (pool == default_ || pools_.erase(pool) == 0) return false;
  if (current_ == pool) current_ = default_;
  return true;
}

bool MemoryPools::is_pool(cudaMemPool_t pool) {
  const std::lock_guard lock(mutex_);
  return pools_.contains(pool);
}

cudaMemPool_t MemoryPools::current() {
  const std::lock_guard lock(mutex_);
  return current_;
}

bool MemoryPools::set_current(cudaMemPool_t pool) {
  const std::lock_guard lock(mutex_);
  if (!pools_.contains(pool)) return false;
  current_ = pool;
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
  if (device != 0) return cudaErrorInvalidDevice;
  *pool = memory_pools().default_pool();
  return cudaSuccess;
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  if (pool == nullptr) return cudaErrorInvalidValue;
  if (device != 0) return cudaErrorInvalidDevice;
  *pool = memory_pools().current();
  return cudaSuccess;
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  if (device != 0) return cudaErrorInvalidDevice;
  return memory_pools().set_current(pool) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const struct cudaMemPoolProps* properties) {
  if (pool == nullptr || properties == nullptr || properties->allocType != cudaMemAllocationTypePinned) {
    return cudaErrorInvalidValue;
  }
  // One memory serves every location; memory shared between processes is another matter.
  if (properties->handleTypes != cudaMemHandleTypeNone) return cudaErrorNotSupported;
  *pool = memory_pools().create();
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
  // a pool keeps nothing in reserve
  return memory_pools().is_pool(pool) ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace api
}  // namespace lynxpp::device::cpu
