// Repeated launches of kernels by the same thread, which need no lookup by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/session/session_fixture.h"

namespace lynxpp::interposer {
namespace {

using ::testing::ElementsAre;

class AgainTest : public SessionTest {
 protected:
  std::optional<bool> again(std::uint32_t blocks = 3, std::uint32_t threads = 33) {
    const std::optional<bool> made = session_->launch_again(device_, request_of(blocks, threads), found_);
    session_->collect();
    return made;
  }
  const report::CoverageRecord& finish() {
    session_->finish();
    return records_.coverage.at(0);
  }
  std::vector<std::uint64_t> numbers() const {
    std::vector<std::uint64_t> numbers;
    for (const report::LaunchRecord& record : records_.launches) numbers.push_back(record.launch);
    return numbers;
  }
};

TEST_F(AgainTest, RepeatedLaunchesHaveRecordsAndNumbers) {
  EXPECT_TRUE(launch());
  ASSERT_NE(found_.selected, nullptr);
  EXPECT_EQ(again(), true);
  EXPECT_EQ(again(), true);
  EXPECT_TRUE(launch());
  EXPECT_EQ(decoded_, 1);
  EXPECT_EQ(finish().instrumented_launches, 4u);
  EXPECT_EQ(records_.coverage[0].launches, 4u);
  EXPECT_THAT(numbers(), ElementsAre(0, 1, 2, 3));
  for (const report::LaunchRecord& record : records_.launches) {
    EXPECT_THAT(std::get<std::vector<std::uint64_t>>(record.results[0].values), ElementsAre(7));
    EXPECT_THAT(record.grid, ElementsAre(3, 1, 1));
    EXPECT_THAT(record.block, ElementsAre(33, 1, 1));
  }
}

TEST_F(AgainTest, NewConfigurationsFallBackToTheLookup) {
  EXPECT_TRUE(launch());
  EXPECT_EQ(again(4), std::nullopt) << "another grid";
  EXPECT_EQ(again(3, 64), std::nullopt) << "another shape";
  device_.captures = true;
  EXPECT_EQ(again(), std::nullopt) << "into a graph";
  device_.captures = false;
  EXPECT_TRUE(launch("k", 1, 4, 33));
  EXPECT_EQ(again(4), true);
  EXPECT_EQ(again(3), true) << "both are cached now";
  session_->forget_image(1);
  EXPECT_EQ(again(), std::nullopt) << "its variant is no longer loaded";
  EXPECT_EQ(finish().launches, 4u) << "rejected launches are not numbered";
  EXPECT_THAT(numbers(), ElementsAre(0, 1, 2, 3));
}

TEST_F(AgainTest, AttachingInvalidatesTheCachedLookup) {
  EXPECT_TRUE(launch());
  const std::uint64_t choices = session_->choices();
  std::string problem;
  EXPECT_TRUE(session_->attach("", problem));
  EXPECT_NE(session_->choices(), choices);
  EXPECT_EQ(again(), std::nullopt);
  EXPECT_TRUE(session_->attach(spec_, problem));
  EXPECT_EQ(again(), std::nullopt);
  EXPECT_TRUE(launch());
  EXPECT_EQ(again(), true);
  EXPECT_EQ(finish().launches, 3u);
}

TEST_F(AgainTest, FilteredLaunchesAreCounted) {
  Configuration configuration;
  configuration.launches = *LaunchFilter::parse("0,2", "LYNXPP_LAUNCHES");
  start(std::move(configuration));
  EXPECT_TRUE(launch());
  EXPECT_EQ(again(), false);
  EXPECT_EQ(again(), true);
  EXPECT_EQ(again(), false);
  EXPECT_EQ(finish().launches, 4u);
  EXPECT_EQ(records_.coverage[0].instrumented_launches, 2u);
  EXPECT_THAT(numbers(), ElementsAre(0, 2));
}

TEST_F(AgainTest, RejectedLaunchesRunTheOriginal) {
  EXPECT_TRUE(launch());
  device_.refuses_launch = true;
  EXPECT_EQ(again(), false);
  device_.refuses_launch = false;
  device_.loses_results = true;
  EXPECT_EQ(again(), true);
  EXPECT_EQ(finish().launches, 3u);
  EXPECT_EQ(records_.coverage[0].instrumented_launches, 2u);
  EXPECT_THAT(records_.coverage[0].notes, ElementsAre("too many registers", "results lost: the launch died"));
}

TEST_F(AgainTest, WideKernelsAreRebuilt) {
  std::ofstream(spec_) << "global unsigned long counts[BASIC_BLOCKS];\n"
                          "ON_BASIC_BLOCK_ENTRY: { counts[basicBlockId()]++; }\n";
  text_.insert(text_.find("ret;"), ".reg .pred %p;\nL: setp.ne.u64 %p, %rd1, 0;\n@%p bra L;\n");
  start({});
  // At this clock rate, a counter may overflow in 43 ms.
  device_.set_clock_khz(200'000'000);
  EXPECT_TRUE(launch());
  device_.milliseconds = 50;
  EXPECT_EQ(again(), true) << "the long launch";
  EXPECT_EQ(again(), std::nullopt);
  EXPECT_TRUE(launch());
  EXPECT_EQ(device_.loaded.size(), 2u);
}

TEST_F(AgainTest, TimingAndTimelineDisableTheCache) {
  for (const bool is_timed : {true, false}) {
    Configuration configuration;
    configuration.timing = is_timed ? Timing::stages : Timing::off;
    configuration.timeline = !is_timed;
    start(std::move(configuration));
    launch();
    EXPECT_EQ(found_.selected, nullptr) << is_timed;
  }
}

TEST_F(AgainTest, UnselectedKernelsAreCachedAsUnselected) {
  Configuration configuration;
  configuration.kernels = *NamePattern::parse("other");
  start(std::move(configuration));
  EXPECT_FALSE(launch());
  EXPECT_EQ(found_.selected, nullptr);
  ASSERT_NE(found_.unselected, nullptr);
  ++*found_.unselected;
  EXPECT_EQ(finish().launches, 2u);
}

}  // namespace
}  // namespace lynxpp::interposer
