// Objects that one launch leaves for those after it: to make them anew is much of what a short launch costs.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace lynxpp::device::cpu {

/// Thread safe. Not of threads: what a thread owns may not be made while another one loads a library, whose
/// constructors may wait for a kernel. One of a kind is never destroyed: launches may run while the process
/// ends.
template <typename Object>
class Kept {
 public:
  explicit Kept(std::size_t most) : most_(most) {}

  /// Null: none is left.
  std::unique_ptr<Object> take() {
    const std::lock_guard lock(mutex_);
    if (objects_.empty()) return nullptr;
    std::unique_ptr<Object> taken = std::move(objects_.back());
    objects_.pop_back();
    return taken;
  }

  /// Those beyond the bound are destroyed.
  void give(std::unique_ptr<Object> object) {
    const std::lock_guard lock(mutex_);
    if (objects_.size() < most_) objects_.push_back(std::move(object));
  }

 private:
  const std::size_t most_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Object>> objects_;
};

}  // namespace lynxpp::device::cpu
