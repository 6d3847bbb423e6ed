#include "device/cpu/simt/textures/objects.h"

#include <new>
#include <utility>

namespace lynxpp::device::cpu {
namespace {

/// A handle holds the slot's number from 1 on in its low bits and the slot's use count above them.
constexpr unsigned index_bits = 24;
constexpr std::uint64_t index_mask = (std::uint64_t{1} << index_bits) - 1;

/// Number of removed objects that are kept for running kernels.
constexpr std::size_t kept_objects = 1024;

}  // namespace

ImageObjects::~ImageObjects() {
  for (std::size_t i = 0; i < used_; ++i) delete slot(i).object.load();
  for (auto& chunk : chunks_) delete chunk.load();
}

std::uint64_t ImageObjects::add(ImageObject object) {
  auto made = std::make_unique<const ImageObject>(std::move(object));
  const std::lock_guard lock(mutex_);
  std::size_t index = used_;
  if (removed_.size() > kept_objects) {
    index = removed_.front();
    removed_.pop_front();
    delete slot(index).object.exchange(nullptr);
  } else {
    if (used_ == slots_of_chunk * most_chunks) throw std::bad_alloc();
    auto& chunk = chunks_[index / slots_of_chunk];
    if (chunk.load() == nullptr) chunk = new Chunk;
    ++used_;
  }
  Slot& taken = slot(index);
  taken.object = made.release();
  const std::uint64_t handle = ++taken.generation << index_bits | (index + 1);
  taken.handle = handle;
  return handle;
}

bool ImageObjects::remove(std::uint64_t handle) {
  const std::lock_guard lock(mutex_);
  if (find(handle) == nullptr) return false;
  const std::size_t index = (handle & index_mask) - 1;
  slot(index).handle = 0;
  removed_.push_back(index);
  return true;
}

const ImageObject* ImageObjects::find(std::uint64_t handle) const {
  const std::size_t index = (handle & index_mask) - 1;  // a handle of 0 yields an index beyond all slots
  if (index >= slots_of_chunk * most_chunks || chunks_[index / slots_of_chunk].load() == nullptr)
    return nullptr;
  const Slot& found = slot(index);
  return found.handle.load() == handle ? found.object.load() : nullptr;
}

ImageObjects& image_objects() {
  static auto* const all = new ImageObjects;
  return *all;
}

}  // namespace lynxpp::device::cpu
