// Objects that a launch leaves for later ones: creating them is a large part of the cost of a short launch.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace lynxpp::device::cpu {

/// A pool of at most `most` objects. Thread safe. Not thread-local: initializing thread-local objects can
/// deadlock while another thread loads a library whose constructors wait for a kernel. Global instances are
/// never destroyed, because launches may run during process exit.
template <typename Object>
class ObjectPool {
 public:
  explicit ObjectPool(std::size_t most) : most_(most) {}

  /// Returns null if no object is left.
  std::unique_ptr<Object> take() {
    const std::lock_guard lock(mutex_);
    if (objects_.empty()) return nullptr;
    std::unique_ptr<Object> taken = std::move(objects_.back());
    objects_.pop_back();
    return taken;
  }

  /// Destroys the object if the pool is full.
  void put(std::unique_ptr<Object> object) {
    const std::lock_guard lock(mutex_);
    if (objects_.size() < most_) objects_.push_back(std::move(object));
  }

 private:
  const std::size_t most_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Object>> objects_;
};

}  // namespace lynxpp::device::cpu
