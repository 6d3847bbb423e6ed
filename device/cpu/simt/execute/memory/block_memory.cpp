#include "device/cpu/simt/execute/memory/block_memory.h"

#include <sys/mman.h>

#include <algorithm>

#include "device/cpu/simt/compile/frame_layout.h"

namespace lynxpp::device::cpu {

std::byte* AlignedBuffer::reserve(std::size_t bytes) {
  if (bytes > bytes_ || !memory_) {
    bytes_ = align_up(std::max<std::size_t>(bytes, 1), shared_alignment);
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(shared_alignment, bytes_)));
    if (memory_) std::memset(memory_.get(), 0, bytes_);
  }
  return memory_.get();
}

LocalArena::~LocalArena() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
}

/// Kernels without local memory share a dummy: mapping memory would be a large part of a short launch.
std::byte* LocalArena::reserve(std::size_t bytes) {
  alignas(128) static std::byte none[128];
  if (bytes == 0) return none;
  if (memory_ != nullptr && bytes <= bytes_) return memory_;
  if (memory_ != nullptr) munmap(memory_, bytes_);
  bytes_ = std::max<std::size_t>(bytes, 4096);
  void* const memory =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  memory_ = memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
  return memory_;
}

}  // namespace lynxpp::device::cpu
