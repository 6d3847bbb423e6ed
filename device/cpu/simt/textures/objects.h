// Handles of texture and surface objects: what a program passes to its kernels, and what instructions look
// up.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "device/cpu/simt/textures/image.h"

namespace lynxpp::device::cpu {

/// Thread safe. A handle that was removed stays unknown until very many others have been removed.
class ImageObjects {
 public:
  ImageObjects() = default;
  ImageObjects(const ImageObjects&) = delete;
  ImageObjects& operator=(const ImageObjects&) = delete;
  ~ImageObjects();

  /// Never 0. Throws std::bad_alloc when there are too many.
  std::uint64_t add(ImageObject object);
  /// False when the handle is none.
  bool remove(std::uint64_t handle);
  /// What the handle stands for; null when it is none. Lives until well after its removal: a kernel that
  /// still runs may go on looking at it.
  const ImageObject* find(std::uint64_t handle) const;

 private:
  struct Slot {
    std::atomic<std::uint64_t> handle = 0;
    std::atomic<const ImageObject*> object = nullptr;
    std::uint64_t generation = 0;
  };
  static constexpr std::size_t slots_of_chunk = 1024;
  static constexpr std::size_t most_chunks = 4096;
  using Chunk = std::array<Slot, slots_of_chunk>;

  Slot& slot(std::size_t index) const {
    return (*chunks_[index / slots_of_chunk].load())[index % slots_of_chunk];
  }

  mutable std::array<std::atomic<Chunk*>, most_chunks> chunks_ = {};
  std::mutex mutex_;
  std::size_t used_ = 0;             ///< slots that have ever been
  std::deque<std::size_t> removed_;  ///< slots to be used again, the oldest first
};

/// The process's objects. Never destroyed.
ImageObjects& image_objects();

}  // namespace lynxpp::device::cpu
