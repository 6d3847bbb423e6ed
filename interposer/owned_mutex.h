// A mutex that knows whether the calling thread holds it.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace lynxpp::interposer {

class OwnedMutex {
 public:
  void lock() {
    mutex_.lock();
    owner_ = std::this_thread::get_id();
  }
  bool try_lock() { return owned(mutex_.try_lock()); }
  bool try_lock_for(std::chrono::milliseconds patience) { return owned(mutex_.try_lock_for(patience)); }
  void unlock() {
    owner_ = std::thread::id();
    mutex_.unlock();
  }
  bool is_held_by_caller() const { return owner_ == std::this_thread::get_id(); }

 private:
  bool owned(bool locked) {
    if (locked) owner_ = std::this_thread::get_id();
    return locked;
  }

  std::timed_mutex mutex_;
  std::atomic<std::thread::id> owner_;
};

}  // namespace lynxpp::interposer
