// A mutex that knows whether the calling thread holds it, and a lock of it that Clang's analysis follows.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "interposer/lock_ranks.h"
#include "support/check.h"
#include "support/thread_safety.h"

namespace lynxpp::interposer {

/// `Mutex` is one of the standard library's; try_lock_for() needs a timed one.
template <typename Mutex>
class LYNXPP_CAPABILITY("mutex") OwnedMutex {
 public:
  explicit OwnedMutex(LockRank rank) : rank_(rank) {}

  /// Builds with checks (support/check.h) fail if the thread holds a lock of this rank or a later one. Trying
  /// never fails that way, because it does not wait forever.
  void lock() LYNXPP_ACQUIRE() {
    if constexpr (checks_are_on)
      LYNXPP_CHECK(is_held_by_caller() || HeldLocks::of_thread().may_wait_for(rank_),
                   "locks are out of order");
    mutex_.lock();
    entered();
  }
  bool try_lock() LYNXPP_TRY_ACQUIRE(true) { return mutex_.try_lock() && entered(); }
  bool try_lock_for(std::chrono::milliseconds patience) LYNXPP_TRY_ACQUIRE(true) {
    return mutex_.try_lock_for(patience) && entered();
  }
  void unlock() LYNXPP_RELEASE() {
    if (--depth_ == 0) {
      owner_.store(std::thread::id(), std::memory_order_relaxed);
      if constexpr (checks_are_on) HeldLocks::of_thread().released(rank_);
    }
    mutex_.unlock();
  }
  bool is_held_by_caller() const {
    return owner_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  /// For code that the analysis does not connect with the lock, such as lambdas.
  void check_held() const LYNXPP_ASSERTS() { LYNXPP_CHECK(is_held_by_caller(), "a lock is not held"); }

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

/// Holds a mutex until its end, or until unlock(). std::unique_lock is not annotated.
template <typename Mutex>
class LYNXPP_SCOPED_CAPABILITY Lock {
 public:
  explicit Lock(Mutex& mutex) LYNXPP_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  /// The calling thread holds the mutex.
  Lock(Mutex& mutex, std::adopt_lock_t) LYNXPP_REQUIRES(mutex) : mutex_(mutex) {}
  ~Lock() LYNXPP_RELEASE() {
    if (is_held_) mutex_.unlock();
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  void lock() LYNXPP_ACQUIRE() {
    mutex_.lock();
    is_held_ = true;
  }
  void unlock() LYNXPP_RELEASE() {
    is_held_ = false;
    mutex_.unlock();
  }

 private:
  Mutex& mutex_;
  bool is_held_ = true;
};

}  // namespace lynxpp::interposer
