// Records are written when they are complete, and complete records are written even if the program ends
// during a launch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "tests/session/session_fixture.h"

namespace lynxpp::interposer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(SessionTest, CompletedLaunchIsRecordedImmediately) {
  EXPECT_TRUE(launch());
  EXPECT_EQ(records_.launches.size(), 1u);
}

TEST_F(SessionTest, CollectingWritesCompletedLaunches) {
  device_.ready = false;
  EXPECT_TRUE(launch());
  session_->collect();
  EXPECT_THAT(records_.launches, IsEmpty());
  device_.ready = true;
  session_->collect();
  EXPECT_EQ(records_.launches.size(), 1u);
  session_->finish();
  EXPECT_EQ(records_.launches.size(), 1u);
}

TEST_F(SessionTest, WritesCompleteRecordsWhileAnotherThreadLaunches) {
  EXPECT_TRUE(launch());
  device_.during_launch = [&] { std::thread([&] { session_->finish_now(); }).join(); };
  launch();
  EXPECT_EQ(records_.launches.size(), 1u);
  ASSERT_EQ(records_.coverage.size(), 1u);
  EXPECT_THAT(records_.coverage[0].notes,
              ElementsAre("the program ended before 1 launch finished; the results are missing"));
  EXPECT_EQ(records_.finished, 1);
  session_->finish();
  EXPECT_EQ(records_.finished, 1);
}

/// As in a signal handler that calls exit().
TEST_F(SessionTest, ThreadThatExitsInsideItsLaunchDoesNotDeadlock) {
  device_.during_launch = [&] { session_->finish(); };
  launch();
  EXPECT_THAT(records_.launches, IsEmpty());
  ASSERT_EQ(records_.coverage.size(), 1u);
  EXPECT_EQ(records_.coverage[0].reason, "the program ended before its first launch finished");
  EXPECT_EQ(records_.finished, 1);
}

TEST_F(SessionTest, EndlessLaunchDoesNotBlockExit) {
  std::promise<void> begun;
  std::promise<void> ended;
  device_.during_launch = [&] {
    begun.set_value();
    ended.get_future().wait();
  };
  std::thread launcher([&] { launch(); });
  begun.get_future().wait();
  session_->finish();
  EXPECT_EQ(records_.finished, 1);
  ended.set_value();
  launcher.join();
  EXPECT_EQ(records_.finished, 1);
  EXPECT_THAT(records_.launches, IsEmpty());
}

TEST_F(SessionTest, OtherThreadsRunOriginalsAfterExit) {
  bool instrumented = true;
  device_.during_launch = [&] {
    session_->finish();
    std::thread([&] { instrumented = launch("other"); }).join();
  };
  launch();
  EXPECT_FALSE(instrumented);
}

TEST_F(SessionTest, MissingResultsAreReportedWithoutWaiting) {
  device_.ready = false;
  EXPECT_TRUE(launch());
  EXPECT_TRUE(launch());
  session_->finish_now();
  EXPECT_THAT(records_.launches, IsEmpty());
  ASSERT_EQ(records_.coverage.size(), 1u);
  EXPECT_THAT(records_.coverage[0].notes, ElementsAre(HasSubstr("before 2 launches finished")));
}

}  // namespace
}  // namespace lynxpp::interposer
