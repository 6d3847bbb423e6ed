// A mutex that knows whether the calling thread holds it, and a lock of it that Clang's analysis follows.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <mutex>

#include "interposer/lock_ranks.h"
#include "support/check.h"
#include "support/thread_safety.h"

namespace lynxpp {

/// `Mutex` is one of the standard library's; try_lock_for() needs a timed one, lock_shared() a shared one.
template <typename Mutex>
class LYNXPP_CAPABILITY("mutex") OwnedMutex {
 public:
  constexpr explicit OwnedMutex(LockRank rank) : rank_(rank) {}

  /// Builds with checks (support/check.h) fail if the thread holds a lock of this rank or a later one. Trying
  /// never fails that way, because it does not wait forever.
  void lock() LYNXPP_ACQUIRE() {
    check_order();
    mutex_.lock();
    entered();
  }
  bool try_lock() LYNXPP_TRY_ACQUIRE(true) { return mutex_.try_lock() && entered(); }
  bool try_lock_for(std::chrono::milliseconds patience) LYNXPP_TRY_ACQUIRE(true) {
    return mutex_.try_lock_for(patience) && entered();
  }
  void unlock() LYNXPP_RELEASE() {
    if (--depth_ == 0) {
      owner_.store(nobody, std::memory_order_relaxed);
      if constexpr (checks_are_on) HeldLocks::of_thread().released(rank_);
    }
    mutex_.unlock();
  }
  /// A thread that reads may not lock again, and does not count as the holder.
  void lock_shared() LYNXPP_ACQUIRE_SHARED() {
    check_order();
    mutex_.lock_shared();
    if constexpr (checks_are_on) HeldLocks::of_thread().acquired(rank_);
  }
  void unlock_shared() LYNXPP_RELEASE_SHARED() {
    if constexpr (checks_are_on) HeldLocks::of_thread().released(rank_);
    mutex_.unlock_shared();
  }
  bool is_held_by_caller() const { return owner_.load(std::memory_order_relaxed) == pthread_self(); }

 private:
  void check_order() const {
    if constexpr (checks_are_on)
      LYNXPP_CHECK(is_held_by_caller() || HeldLocks::of_thread().may_wait_for(rank_),
                   "locks are out of order");
  }
  bool entered() {
    if (++depth_ == 1) {
      owner_.store(pthread_self(), std::memory_order_relaxed);
      if constexpr (checks_are_on) HeldLocks::of_thread().acquired(rank_);
    }
    return true;
  }

  static constexpr pthread_t nobody = 0;

  Mutex mutex_;
  const LockRank rank_;
  /// A thread finds its own id here exactly while it holds the mutex, whatever it sees of others' ids.
  std::atomic<pthread_t> owner_ = nobody;
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

/// Holds a mutex for reading until its end.
template <typename Mutex>
class LYNXPP_SCOPED_CAPABILITY SharedLock {
 public:
  explicit SharedLock(Mutex& mutex) LYNXPP_ACQUIRE_SHARED(mutex) : mutex_(mutex) { mutex_.lock_shared(); }
  ~SharedLock() LYNXPP_RELEASE() { mutex_.unlock_shared(); }
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace lynxpp
