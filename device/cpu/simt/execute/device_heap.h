// The heap of device code (malloc and free in kernels), and the other limit that cudaDeviceSetLimit sets for
// running kernels.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>

#include "device/cpu/simt/execute/global_memory.h"

namespace lynxpp::device::cpu {

/// Thread safe.
class DeviceHeap {
 public:
  static constexpr std::size_t default_limit = std::size_t{8} << 20;

  /// From `memory`; null when `bytes` would exceed what is left of the limit, and for 0 bytes.
  void* allocate(std::size_t bytes, GlobalMemory& memory);
  /// False, and nothing is freed, when `memory` has not given it out.
  bool free(void* pointer, GlobalMemory& memory);
  /// False once a kernel has used the heap: its size is fixed then, as CUDA's is.
  bool set_limit(std::size_t bytes);
  std::size_t limit() const;
  /// The memory is gone; the limit is the default again.
  void reset();

 private:
  mutable std::mutex mutex_;
  std::map<void*, std::size_t> live_;
  std::size_t limit_ = default_limit;
  std::size_t used_ = 0;
  bool is_fixed_ = false;
};

/// The heap of a device. Never destroyed.
DeviceHeap& device_heap(int device);

/// Bytes that the calls of one thread may take where their depth is not known when the kernel is compiled
/// (recursion, calls through pointers), beyond one frame of each function. Of a device; read by every launch.
inline constexpr std::size_t default_stack_limit = 1024;
std::atomic<std::size_t>& stack_limit(int device);

}  // namespace lynxpp::device::cpu
