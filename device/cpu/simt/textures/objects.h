// Handles of texture and surface objects, which programs pass to kernels and instructions look up.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "device/cpu/simt/textures/image.h"

namespace lynxpp::device::cpu {

/// Thread safe. A removed handle stays invalid until very many others have been removed.
class ImageObjects {
 public:
  ImageObjects() = default;
  ImageObjects(const ImageObjects&) = delete;
  ImageObjects& operator=(const ImageObjects&) = delete;
  ~ImageObjects();

  /// Adds an object and returns its handle, which is never 0. Throws std::bad_alloc if there are too many
  /// objects.
  std::uint64_t add(ImageObject object);
  /// Removes an object; false if the handle is invalid.
  bool remove(std::uint64_t handle);
  /// Returns the object of a handle; null if the handle is invalid. The object outlives its removal for long
  /// enough that running kernels can still use it.
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
  std::size_t used_ = 0;             ///< slots that have ever been used
  std::deque<std::size_t> removed_;  ///< slots to reuse, oldest first
};

/// Returns the process's objects, which are never destroyed.
ImageObjects& image_objects();

}  // namespace lynxpp::device::cpu
