// A mutex that knows whether the calling thread holds it.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace lynxpp::interposer {

/// `Mutex` is std::timed_mutex or std::recursive_timed_mutex.
template <typename Mutex>
class OwnedMutex {
 public:
  void lock() {
    mutex_.lock();
    entered();
  }
  bool try_lock() { return mutex_.try_lock() && entered(); }
  bool try_lock_for(std::chrono::milliseconds patience) { return mutex_.try_lock_for(patience) && entered(); }
  void unlock() {
    if (--depth_ == 0) owner_ = std::thread::id();
    mutex_.unlock();
  }
  bool is_held_by_caller() const { return owner_ == std::this_thread::get_id(); }

 private:
  bool entered() {
    if (++depth_ == 1) owner_ = std::this_thread::get_id();
    return true;
  }

  Mutex mutex_;
  std::atomic<std::thread::id> owner_;
  int depth_ = 0;  ///< locks by the owner, which alone changes it
};

}  // namespace lynxpp::interposer
