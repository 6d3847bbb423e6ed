// Counters that launches share, without a session.
#include "interposer/session/counter_sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/session/pending_fixture.h"

namespace lynxpp::interposer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class ReadingDevice : public FakeDevice {
 public:
  bool may_share(const device::Launch&) override { return true; }
  Result<std::unique_ptr<device::Readback>> read_back_shared(std::unique_ptr<device::Buffer>&,
                                                             bool) override {
    if (is_captured) return std::unique_ptr<device::Readback>();
    ++read;
    return std::unique_ptr<device::Readback>(
        std::make_unique<FlaggedReadback>(std::make_shared<std::atomic<bool>>(true)));
  }

  bool is_captured = false;
  int read = 0;
};

class CounterSharingTest : public PendingTest {
 protected:
  JoinedLaunch open(const std::vector<std::string>& ranges = {}) {
    PendingPtr pending = pending_of(plan_, 0, &reading_);
    pending->activity.ranges = ranges;
    return sharing_.open({&reading_, 1, &stream_}, std::move(pending), {5, 6},
                         std::make_unique<FakeBuffer>(8, freed_));
  }

  int stream_ = 0, freed_ = 0;
  ReadingDevice reading_;
  std::shared_ptr<LaunchPlan> plan_ = plan_of();
  CounterSharing sharing_{results_, 2, true};
};

TEST_F(CounterSharingTest, FirstLaunchesHaveRecordsOfTheirOwn) {
  EXPECT_FALSE(sharing_.shares(*plan_, reading_, {}));
  EXPECT_FALSE(sharing_.shares(*plan_, reading_, {}));
  EXPECT_TRUE(sharing_.shares(*plan_, reading_, {}));
  EXPECT_FALSE(sharing_.shares(*plan_of(), reading_, {})) << "of another plan";
  results_.begin_end();
  EXPECT_FALSE(sharing_.shares(*plan_, reading_, {})) << "nobody would close them";
}

TEST_F(CounterSharingTest, MeasuringEachLaunchEndsSharing) {
  sharing_.stop_sharing();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(sharing_.shares(*plan_, reading_, {}));
}

TEST_F(CounterSharingTest, LaunchesOfSeveralThreadsAreReadBackOnce) {
  constexpr std::uint64_t threads = 4, each = 1000;
  open().launched(threads * each + 10);
  std::vector<std::thread> started;
  for (std::uint64_t thread = 0; thread < threads; ++thread) {
    started.emplace_back([&, thread] {
      for (std::uint64_t i = 0; i < each; ++i) {
        JoinedLaunch joined = sharing_.join(*plan_, &stream_, {});
        ASSERT_TRUE(joined.has_joined());
        joined.launched(10 + thread * each + i);
      }
    });
  }
  for (std::thread& thread : started) thread.join();
  sharing_.close();
  sharing_.close();
  EXPECT_EQ(reading_.read, 1);
  EXPECT_TRUE(sharing_.is_empty());
  results_.collect(Which::all);
  EXPECT_THAT(settled(), ElementsAre(10)) << "the least number";
  EXPECT_THAT(shared_, ElementsAre(threads * each + 1));
}

TEST_F(CounterSharingTest, NoLaunchIsLostWhileCountersAreClosed) {
  constexpr std::uint64_t most = 20'000;
  std::atomic<bool> is_through = false;
  std::thread closing([&] {
    while (!is_through) sharing_.close();
  });
  for (std::uint64_t i = 0; i < most; ++i) {
    JoinedLaunch joined = sharing_.join(*plan_, &stream_, {});
    if (!joined.has_joined()) joined = open();
    joined.launched(i);
  }
  is_through = true;
  closing.join();
  sharing_.close();
  results_.collect(Which::all);
  std::uint64_t launches = 0;
  for (const std::uint64_t each : shared_) launches += each;
  EXPECT_EQ(launches, most);
  EXPECT_TRUE(std::ranges::is_sorted(settled()));
}

TEST_F(CounterSharingTest, ALaunchInProgressDelaysTheReadback) {
  open().launched(0);
  {
    JoinedLaunch joined = sharing_.join(*plan_, &stream_, {});
    EXPECT_THAT(joined.words(), ElementsAre(5, 6));
    sharing_.close();
    EXPECT_EQ(reading_.read, 0);
    EXPECT_FALSE(sharing_.join(*plan_, &stream_, {}).has_joined()) << "closed";
    joined.launched(1);
  }
  sharing_.close_after_launch(&freed_);
  EXPECT_EQ(reading_.read, 0) << "that was on another stream";
  sharing_.close_after_launch(&stream_);
  EXPECT_EQ(reading_.read, 1);
}

TEST_F(CounterSharingTest, ARefusedLaunchDoesNotCount) {
  { const JoinedLaunch refused = open(); }
  sharing_.close();
  EXPECT_EQ(reading_.read, 0);
  EXPECT_TRUE(sharing_.is_empty());
  EXPECT_EQ(freed_, 1);
}

TEST_F(CounterSharingTest, OtherStreamsAndRangesDoNotJoin) {
  open({"step"}).launched(0);
  EXPECT_FALSE(sharing_.join(*plan_, &freed_, {"step"}).has_joined());
  EXPECT_FALSE(sharing_.join(*plan_, &stream_, {"epoch"}).has_joined());
  EXPECT_FALSE(sharing_.join(*plan_of(), &stream_, {"step"}).has_joined());
  EXPECT_TRUE(sharing_.join(*plan_, &stream_, {"step"}).has_joined());
}

TEST_F(CounterSharingTest, ChosenCountersAreClosed) {
  open().launched(0);
  sharing_.close([](const SharingOwner& owner) { return owner.image == 2; });
  EXPECT_EQ(reading_.read, 0);
  sharing_.close([](const SharingOwner& owner) { return owner.image == 1; });
  EXPECT_EQ(reading_.read, 1);
}

TEST_F(CounterSharingTest, AStreamThatEndsWhileItIsCapturedLosesItsResults) {
  open().launched(3);
  reading_.is_captured = true;
  sharing_.leave_stream(&stream_, false);
  EXPECT_THAT(lost_, IsEmpty());
  sharing_.leave_stream(&stream_, true);
  sharing_.leave_stream(&stream_, true);
  EXPECT_THAT(lost_, ElementsAre(Pair(3, "their stream was destroyed meanwhile")));
  EXPECT_TRUE(sharing_.is_empty());
}

TEST_F(CounterSharingTest, NothingIsClosedAfterTheEnd) {
  open().launched(0);
  sharing_.stop();
  sharing_.close();
  EXPECT_EQ(reading_.read, 0);
}

}  // namespace
}  // namespace lynxpp::interposer
