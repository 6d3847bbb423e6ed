// A mutex that knows whether the calling thread holds it.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "interposer/lock_ranks.h"
#include "support/check.h"

namespace lynxpp::interposer {

/// `Mutex` is std::timed_mutex or std::recursive_timed_mutex.
template <typename Mutex>
class OwnedMutex {
 public:
  explicit OwnedMutex(LockRank rank) : rank_(rank) {}

  /// Builds with checks (support/check.h) fail if the thread holds a lock of this rank or a later one. Trying
  /// never fails that way, because it does not wait forever.
  void lock() {
    if constexpr (checks_are_on)
      LYNXPP_CHECK(is_held_by_caller() || HeldLocks::of_thread().may_wait_for(rank_),
                   "locks are out of order");
    mutex_.lock();
    entered();
  }
  bool try_lock() { return mutex_.try_lock() && entered(); }
  bool try_lock_for(std::chrono::milliseconds patience) { return mutex_.try_lock_for(patience) && entered(); }
  void unlock() {
    if (--depth_ == 0) {
      owner_.store(std::thread::id(), std::memory_order_relaxed);
      if constexpr (checks_are_on) HeldLocks::of_thread().released(rank_);
    }
    mutex_.unlock();
  }
  bool is_held_by_caller() const {
    return owner_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

 private:
  bool entered() {
    if (++depth_ == 1) {
      owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
      if constexpr (checks_are_on) HeldLocks::of_thread().acquired(rank_);
    }
    return true;
  }

  Mutex mutex_;
  const LockRank rank_;
  /// A thread finds its own id here exactly while it holds the mutex, whatever it sees of others' ids.
  std::atomic<std::thread::id> owner_;
  int depth_ = 0;  ///< locks by the owner, which alone changes it
};

}  // namespace lynxpp::interposer
