// 32-bit and 64-bit counters: which launches use which, and the report of counts that may have overflowed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <thread>
#include <utility>

#include "tests/session/session_fixture.h"

namespace lynxpp::interposer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CounterWidthTest : public SessionTest {
 protected:
  /// Attaches to a kernel with a loop, with a counter for each basic block.
  void count_a_loop(Configuration configuration) {
    std::ofstream(spec_) << "global unsigned long counts[BASIC_BLOCKS];\n"
                            "ON_BASIC_BLOCK_ENTRY: { counts[basicBlockId()]++; }\n";
    text_.insert(text_.find("ret;"), ".reg .pred %p;\nL: setp.ne.u64 %p, %rd1, 0;\n@%p bra L;\n");
    start(std::move(configuration));
  }
};

TEST_F(CounterWidthTest, LongLaunchesGetWideCounters) {
  count_a_loop({});
  // At this clock rate, a counter may overflow in 43 ms.
  device_.set_clock_khz(200'000'000);
  EXPECT_TRUE(launch());
  device_.milliseconds = 50;
  EXPECT_TRUE(launch()) << "the long launch";
  device_.milliseconds = 2.5;
  EXPECT_TRUE(launch());
  session_->finish();
  ASSERT_EQ(records_.launches.size(), 3u);
  EXPECT_TRUE(records_.launches[0].notes.empty());
  EXPECT_THAT(records_.launches[1].notes, ElementsAre(HasSubstr("counts are an estimate")));
  EXPECT_TRUE(records_.launches[2].notes.empty());
  ASSERT_EQ(device_.loaded.size(), 2u);
  EXPECT_THAT(device_.loaded[0], HasSubstr("add.u32 %lynxpp_r0, %lynxpp_r0, 1;"));
  EXPECT_THAT(device_.loaded[1], HasSubstr("add.u64 %lynxpp_rd1, %lynxpp_rd1, 1;"));
  EXPECT_THAT(device_.wants_time_bound, ElementsAre(true, false));
}

TEST_F(CounterWidthTest, KernelsWithoutLoopsNeedNoTimeBound) {
  EXPECT_TRUE(launch());
  EXPECT_THAT(device_.wants_time_bound, ElementsAre(false));
}

TEST_F(CounterWidthTest, TimeInQueuesIsNotChargedIfTheDeviceKnowsTheLaunchs) {
  count_a_loop({});
  // At this clock rate, a counter may overflow in 43 ms, which pass before the results are polled.
  device_.set_clock_khz(200'000'000);
  device_.ready = false;
  EXPECT_TRUE(launch());
  device_.knows_times = false;
  EXPECT_TRUE(launch()) << "the device does not report the time of this one";
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  session_->finish();
  ASSERT_EQ(records_.launches.size(), 2u);
  EXPECT_TRUE(records_.launches[0].notes.empty()) << "the device needed 3.5 ms at most";
  EXPECT_THAT(records_.launches[1].notes, ElementsAre(HasSubstr("counts are an estimate")));
}

TEST_F(CounterWidthTest, RequestedWideCountersApplyFromTheFirstLaunch) {
  Configuration configuration;
  configuration.counters = CounterWidth::wide;
  count_a_loop(std::move(configuration));
  device_.milliseconds = 5000;
  EXPECT_TRUE(launch());
  session_->finish();
  EXPECT_THAT(device_.loaded.at(0), HasSubstr("add.u64 %lynxpp_rd1, %lynxpp_rd1, 1;"));
  EXPECT_TRUE(records_.launches.at(0).notes.empty());
}

TEST_F(CounterWidthTest, RequestedNarrowCountersAreKept) {
  Configuration configuration;
  configuration.counters = CounterWidth::narrow;
  count_a_loop(std::move(configuration));
  device_.set_clock_khz(200'000'000);
  device_.knows_times = false;
  device_.ready = false;
  EXPECT_TRUE(launch()) << "its end is observed late";
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  device_.ready = true;
  session_->collect();
  EXPECT_TRUE(launch());
  session_->finish();
  EXPECT_EQ(device_.loaded.size(), 1u) << "no second variant";
  EXPECT_THAT(device_.loaded.at(0), HasSubstr("add.u32 %lynxpp_r0, %lynxpp_r0, 1;"));
  ASSERT_FALSE(records_.launches.empty());
  EXPECT_THAT(records_.launches[0].notes, ElementsAre(HasSubstr("counts are an estimate")));
}

}  // namespace
}  // namespace lynxpp::interposer
