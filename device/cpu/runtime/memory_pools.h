// Memory pools of the cpu device. Freed memory goes back to the host at once, so a pool is its attributes and
// its accounts.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace lynxpp::device::cpu {

/// Thread safe.
class MemoryPools {
 public:
  MemoryPools();

  cudaMemPool_t default_pool() const { return default_; }
  /// The pool of cudaMallocAsync.
  cudaMemPool_t current();
  /// False when `pool` is none.
  bool set_current(cudaMemPool_t pool);
  bool is_pool(cudaMemPool_t pool);
  cudaMemPool_t create();
  /// False for the default pool and for what is no pool.
  bool destroy(cudaMemPool_t pool);

  /// *value is an int or a cuuint64_t, as cudaMemPoolAttr says. Errors: cudaErrorInvalidValue.
  cudaError_t get(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
  cudaError_t set(cudaMemPool_t pool, cudaMemPoolAttr attribute, const void* value);

 private:
  struct Pool {
    int reuse[3] = {1, 1, 1};  ///< the three cudaMemPoolReuse… switches
    std::uint64_t release_threshold = 0;
  };

  std::mutex mutex_;
  std::map<cudaMemPool_t, std::unique_ptr<Pool>> pools_;
  cudaMemPool_t default_ = nullptr;
  cudaMemPool_t current_ = nullptr;
};

/// The process's pools. Never destroyed.
MemoryPools& memory_pools();

}  // namespace lynxpp::device::cpu
