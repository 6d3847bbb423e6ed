// The queue of outstanding launches, without a session.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "tests/session/pending_fixture.h"

namespace lynxpp::interposer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr std::chrono::seconds long_time(30);  // nothing takes that long

class ResultsPipelineTest : public PendingTest {};

TEST_F(ResultsPipelineTest, SettlesInTheOrderOfTheLaunches) {
  const Flag first = add(0, false);
  add(1);
  add(2);
  EXPECT_TRUE(results_.collect(Which::arrived));
  EXPECT_THAT(settled(), IsEmpty()) << "the first launch is not over";
  EXPECT_EQ(results_.size(), 3u);
  end(first);
  EXPECT_TRUE(results_.collect(Which::arrived));
  EXPECT_THAT(settled(), ElementsAre(0, 1, 2));
  EXPECT_EQ(results_.size(), 0u);
  EXPECT_EQ(results_.settled(), 3u);
}

TEST_F(ResultsPipelineTest, ThreadsThatAddLoseNoLaunchAndKeepTheirOrder) {
  constexpr std::uint64_t threads = 4, each = 2000;
  std::atomic<bool> is_through = false;
  std::thread collector([&] {
    while (!is_through) results_.collect(Which::arrived);
  });
  std::vector<std::thread> started;
  for (std::uint64_t thread = 0; thread < threads; ++thread) {
    started.emplace_back([&, thread] {
      for (std::uint64_t i = 0; i < each; ++i) {
        PendingPtr pending = pending_of(plan_of(), thread * each + i);
        pending->readback = std::make_unique<FlaggedReadback>(std::make_shared<std::atomic<bool>>(true));
        results_.add(std::move(pending));
      }
    });
  }
  for (std::thread& thread : started) thread.join();
  is_through = true;
  collector.join();
  results_.collect(Which::all);
  std::map<std::uint64_t, std::uint64_t> next;
  for (const std::uint64_t number : settled()) EXPECT_EQ(number % each, next[number / each]++) << number;
  EXPECT_EQ(settled().size(), threads * each);
  EXPECT_EQ(results_.size(), 0u);
}

TEST_F(ResultsPipelineTest, TooManyBytesCrowdIt) {
  constexpr std::uint64_t bytes = 300ull << 20;
  for (std::uint64_t i = 0; i < 2; ++i) {
    EXPECT_FALSE(results_.is_crowded());
    PendingPtr pending = pending_of(plan_of(bytes), i);
    pending->readback = std::make_unique<FlaggedReadback>(std::make_shared<std::atomic<bool>>(true));
    results_.add(std::move(pending));
  }
  EXPECT_TRUE(results_.is_crowded());
  results_.collect(Which::all);
  EXPECT_FALSE(results_.is_crowded());
}

TEST_F(ResultsPipelineTest, WaitingForResultsEndsWithTheLastOne) {
  add(0);
  int asked = 0;
  EXPECT_FALSE(results_.collect_until([&] { return ++asked > 1; })) << "nothing is left to wait for";
  EXPECT_EQ(asked, 1);
  EXPECT_THAT(settled(), ElementsAre(0));
}

TEST_F(ResultsPipelineTest, ALaunchThatDoesNotEndDelaysOthersOnlyForAWhile) {
  add(0, false);
  add(1);
  EXPECT_TRUE(results_.collect_until([&] { return results_.settled() != 0; }));
  EXPECT_THAT(settled(), ElementsAre(1));
  EXPECT_EQ(results_.size(), 1u);
}

TEST_F(ResultsPipelineTest, ItsThreadCollects) {
  std::promise<void> came;
  results_.use_worker([&] {
    results_.collect(Which::arrived);
    if (results_.size() != 0) return false;
    came.set_value();
    return true;
  });
  add(7);
  ASSERT_EQ(came.get_future().wait_for(long_time), std::future_status::ready);
  EXPECT_THAT(settled(), ElementsAre(7));
}

TEST_F(ResultsPipelineTest, TheEndOfAContextSettlesItsLaunchesOnly) {
  FakeDevice other;
  add(0, true, &other);
  add(1, true, &device_);
  const std::array<const device::Device*, 1> ending{&device_};
  EXPECT_TRUE(results_.settle_ending(ending, [&] { add(2, true, &device_); }));
  EXPECT_THAT(settled(), ElementsAre(1, 2));
  EXPECT_EQ(results_.size(), 1u);
}

TEST_F(ResultsPipelineTest, ALaunchThatOutlivesItsContextIsLost) {
  add(0, true, &device_);
  add(1, false, &device_);
  add(2, true, &device_);
  const std::array<const device::Device*, 1> ending{&device_};
  EXPECT_FALSE(results_.settle_ending(ending, [] {}));
  EXPECT_THAT(settled(), ElementsAre(0));
  EXPECT_THAT(lost_, ElementsAre(Pair(2, "the context ended before the launch finished")));
  EXPECT_EQ(results_.size(), 0u);
}

TEST_F(ResultsPipelineTest, CompletedLaunchesAreSettledWhileAnotherThreadWaits) {
  const Flag first = add(0, false);
  std::thread waiting([&] { results_.collect(Which::all); });
  while (results_.size() != 0) std::this_thread::yield();
  add(1);
  const Flag third = add(2, false);
  EXPECT_FALSE(results_.collect(Which::arrived, std::chrono::milliseconds(1)));
  results_.collect_completed(long_time);
  EXPECT_THAT(settled(), ElementsAre(1));
  EXPECT_EQ(results_.size(), 1u);
  end(third);
  end(first);
  waiting.join();
  EXPECT_THAT(settled(), ElementsAre(1, 0, 2));
}

TEST_F(ResultsPipelineTest, AtTheEndOnlyTheThreadThatWaitsForAllCollects) {
  add(0);
  results_.begin_end();
  results_.collect(Which::arrived);
  EXPECT_FALSE(results_.collect_until([] { return true; }));
  EXPECT_THAT(settled(), IsEmpty());
  results_.collect(Which::all);
  EXPECT_THAT(settled(), ElementsAre(0));
}

TEST_F(ResultsPipelineTest, NothingIsSettledAfterIt) {
  add(0);
  results_.stop();
  results_.collect(Which::all);
  results_.collect_completed(long_time);
  EXPECT_THAT(settled(), IsEmpty());
}

TEST_F(ResultsPipelineTest, VisitsOutstandingLaunches) {
  add(0, false);
  add(1, false);
  std::vector<std::uint64_t> visited;
  EXPECT_TRUE(results_.visit(long_time, [&](const Pending& each) { visited.push_back(each.launch); }));
  EXPECT_THAT(visited, ElementsAre(0, 1));
}

}  // namespace
}  // namespace lynxpp::interposer
