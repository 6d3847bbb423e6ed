// Shared and local memory of a thread block.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace lynxpp::device::cpu {

/// Alignment of a block's shared memory: a generic address determines its bank and its position in the
/// pattern of a swizzled tensor, which repeats after 1024 bytes.
inline constexpr std::size_t shared_alignment = 1024;

/// Memory with the alignment of shared memory. Contents are lost when it grows.
class AlignedBuffer {
 public:
  std::byte* reserve(std::size_t bytes);
  std::size_t bytes() const { return bytes_; }
  /// Clears the contents.
  void clear() {
    if (memory_) std::memset(memory_.get(), 0, bytes_);
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t bytes_ = 0;
};

/// Address space for the local memory of all threads of a block; pages are allocated when touched.
class LocalArena {
 public:
  LocalArena() = default;
  ~LocalArena();
  LocalArena(const LocalArena&) = delete;
  LocalArena& operator=(const LocalArena&) = delete;
  /// Returns null if the system provides no memory.
  std::byte* reserve(std::size_t bytes);

 private:
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace lynxpp::device::cpu
