// Memory pools of the cpu device. Freed memory returns to the host at once, so a pool consists of attributes
// and usage counts.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "device/cpu/runtime/devices.h"

namespace lynxpp::device::cpu {

/// Thread safe.
class MemoryPools {
 public:
  MemoryPools();

  cudaMemPool_t default_pool(int device) const { return default_[static_cast<std::size_t>(device)]; }
  /// Returns the pool that cudaMallocAsync uses on a device.
  cudaMemPool_t current(int device);
  /// Returns false if `pool` does not belong to the device.
  bool set_current(int device, cudaMemPool_t pool);
  bool is_pool(cudaMemPool_t pool) { return device_of(pool).has_value(); }
  /// Returns the device of the pool's memory; nullopt for an invalid handle.
  std::optional<int> device_of(cudaMemPool_t pool);
  cudaMemPool_t create(int device);
  /// Returns false for default pools and invalid handles.
  bool destroy(cudaMemPool_t pool);

  /// *value is an int or a cuuint64_t, as documented for cudaMemPoolAttr. Errors: cudaErrorInvalidValue.
  cudaError_t get(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
  cudaError_t set(cudaMemPool_t pool, cudaMemPoolAttr attribute, const void* value);

 private:
  struct Pool {
    int device = 0;
    int reuse[3] = {1, 1, 1};  ///< the three cudaMemPoolReuse… switches
    std::uint64_t release_threshold = 0;
  };

  std::mutex mutex_;
  std::map<cudaMemPool_t, std::unique_ptr<Pool>> pools_;
  std::array<cudaMemPool_t, most_devices> default_{};
  std::array<cudaMemPool_t, most_devices> current_{};
};

/// Returns the process's pools. Never destroyed.
MemoryPools& memory_pools();

}  // namespace lynxpp::device::cpu
