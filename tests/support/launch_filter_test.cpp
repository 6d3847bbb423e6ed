#include "support/launch_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lynxpp {
namespace {

TEST(LaunchFilter, EmptyTextWantsEveryLaunch) {
  const Result<LaunchFilter> filter = LaunchFilter::parse("", "--launches");
  ASSERT_TRUE(filter.ok());
  EXPECT_TRUE(filter->wants(0));
  EXPECT_TRUE(filter->wants(1u << 30));
}

TEST(LaunchFilter, AcceptsNumbersRangesAndOpenRanges) {
  const Result<LaunchFilter> filter = LaunchFilter::parse("0-2, 5-5, 7,100-", "--launches");
  ASSERT_TRUE(filter.ok());
  for (const std::uint64_t launch : {0, 1, 2, 5, 7, 100, 1000}) EXPECT_TRUE(filter->wants(launch)) << launch;
  for (const std::uint64_t launch : {3, 4, 6, 8, 99}) EXPECT_FALSE(filter->wants(launch)) << launch;
}

TEST(LaunchFilter, ReportsInvalidParts) {
  for (const char* text : {"x", "1-x", "3-1", "9-2", "1,,2", "-4", "1.5", "99999999999999999999999"}) {
    const Result<LaunchFilter> filter = LaunchFilter::parse(text, "--launches");
    ASSERT_FALSE(filter.ok()) << text;
    EXPECT_THAT(filter.error().diagnostics[0].message, testing::StartsWith("--launches: '"));
    EXPECT_EQ(filter.error().diagnostics[0].hint, "write numbers and ranges such as 0-9,100,200-");
  }
}

}  // namespace
}  // namespace lynxpp
