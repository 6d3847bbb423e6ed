#include "interposer/lock_ranks.h"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "interposer/owned_mutex.h"

namespace lynxpp {
namespace {

TEST(LockRanks, OnlyLaterLocksAreWaitedFor) {
  HeldLocks held;
  EXPECT_TRUE(held.may_wait_for(LockRank::closing));
  held.acquired(LockRank::records);
  EXPECT_TRUE(held.may_wait_for(LockRank::state));
  EXPECT_FALSE(held.may_wait_for(LockRank::records)) << "the same rank";
  EXPECT_FALSE(held.may_wait_for(LockRank::taking));
  held.acquired(LockRank::results);
  EXPECT_FALSE(held.may_wait_for(LockRank::state));
  held.released(LockRank::results);
  EXPECT_TRUE(held.may_wait_for(LockRank::state));
  held.released(LockRank::records);
  EXPECT_TRUE(held.may_wait_for(LockRank::closing));
}

using Mutex = OwnedMutex<std::recursive_timed_mutex>;

TEST(LockRanks, MutexesMayBeAcquiredAgainAndOutOfOrderIfTheThreadDoesNotWait) {
  Mutex state(LockRank::state), variants(LockRank::variants);
  const std::lock_guard first(state);
  const std::lock_guard second(variants);
  const std::lock_guard again(state);
  OwnedMutex<std::timed_mutex> records(LockRank::records);
  const std::unique_lock tried(records, std::try_to_lock);
  EXPECT_TRUE(tried.owns_lock());
}

TEST(LockRanks, SeveralThreadsMayReadAndNoneIsTheHolder) {
  OwnedMutex<std::shared_mutex> registry(LockRank::leaf);
  const SharedLock reading(registry);
  EXPECT_FALSE(registry.is_held_by_caller());
  EXPECT_EQ(HeldLocks::of_thread().may_wait_for(LockRank::leaf), !checks_are_on);
  std::thread([&] { const SharedLock also_reading(registry); }).join();
}

TEST(LockRanks, ALockIsReleasedOnceAndAdoptedIfTried) {
  Mutex state(LockRank::state);
  Lock lock(state);
  EXPECT_TRUE(state.is_held_by_caller());
  lock.unlock();
  EXPECT_FALSE(state.is_held_by_caller());
  ASSERT_TRUE(state.try_lock_for(std::chrono::milliseconds(0)));
  { const Lock adopted(state, std::adopt_lock); }
  EXPECT_FALSE(state.is_held_by_caller());
}

TEST(LockRanksDeathTest, WaitingOutOfOrderFails) {
  if (!checks_are_on) GTEST_SKIP() << "the build has no checks";
  Mutex state(LockRank::state), variants(LockRank::variants);
  const std::lock_guard held(variants);
  EXPECT_DEATH(state.lock(), "locks are out of order");
}

}  // namespace
}  // namespace lynxpp
