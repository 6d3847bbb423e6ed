#include "device/cpu/simt/execute/memory/device_heap.h"

#include <array>

namespace lynxpp::device::cpu {

DeviceHeap& device_heap(int device) {
  static auto* const heaps = new std::array<DeviceHeap, most_devices>;
  return (*heaps)[static_cast<std::size_t>(device)];
}

std::atomic<std::size_t>& stack_limit(int device) {
  struct Limit {
    std::atomic<std::size_t> bytes{default_stack_limit};
  };
  static std::array<Limit, most_devices> limits;
  return limits[static_cast<std::size_t>(device)].bytes;
}

void* DeviceHeap::allocate(std::size_t bytes, GlobalMemory& memory) {
  const std::lock_guard lock(mutex_);
  is_fixed_ = true;
  if (bytes == 0 || bytes > limit_ - used_) return nullptr;
  void* const allocated = memory.allocate_for_kernel(bytes);
  if (allocated == nullptr) return nullptr;
  live_[allocated] = bytes;
  used_ += bytes;
  return allocated;
}

bool DeviceHeap::free(void* pointer, GlobalMemory& memory) {
  const std::lock_guard lock(mutex_);
  if (!memory.free_for_kernel(pointer)) return false;
  const auto found = live_.find(pointer);
  if (found == live_.end()) return true;
  used_ -= found->second;
  live_.erase(found);
  return true;
}

bool DeviceHeap::set_limit(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!is_fixed_) limit_ = bytes;
  return !is_fixed_;
}

std::size_t DeviceHeap::limit() const {
  const std::lock_guard lock(mutex_);
  return limit_;
}

void DeviceHeap::reset() {
  const std::lock_guard lock(mutex_);
  live_.clear();
  used_ = 0;
  limit_ = default_limit;
  is_fixed_ = false;
}

}  // namespace lynxpp::device::cpu
