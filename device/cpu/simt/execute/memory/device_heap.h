// The heap of device code (malloc and free in kernels), and the stack limit for calls of unknown depth.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>

#include "device/cpu/simt/execute/memory/global_memory.h"

namespace lynxpp::device::cpu {

/// Thread safe.
class DeviceHeap {
 public:
  static constexpr std::size_t default_limit = std::size_t{8} << 20;

  /// Allocates from `memory`; returns null if the limit would be exceeded, and for 0 bytes.
  void* allocate(std::size_t bytes, GlobalMemory& memory);
  /// Returns false and frees nothing if the pointer was not allocated from `memory`.
  bool free(void* pointer, GlobalMemory& memory);
  /// Returns false once a kernel has used the heap: its size is then fixed, as in CUDA.
  bool set_limit(std::size_t bytes);
  std::size_t limit() const;
  /// Forgets all memory and restores the default limit.
  void reset();

 private:
  mutable std::mutex mutex_;
  std::map<void*, std::size_t> live_;
  std::size_t limit_ = default_limit;
  std::size_t used_ = 0;
  bool is_fixed_ = false;
};

/// Returns the heap of a device, which is never destroyed.
DeviceHeap& device_heap(int device);

/// Bytes per thread for calls of unknown depth (recursion, calls through pointers), beyond one frame of each
/// function. Each device has a limit of its own, which every launch reads.
inline constexpr std::size_t default_stack_limit = 1024;
std::atomic<std::size_t>& stack_limit(int device);

}  // namespace lynxpp::device::cpu
