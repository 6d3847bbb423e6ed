// Hot spots of a kernel's accesses, from records of the specification that counts them.
#include "observe/hot_spots.h"

#include <gtest/gtest.h>

namespace lynxpp::observe {
namespace {

using Numbers = std::vector<std::uint64_t>;

report::ResultValue result(const std::string& name, Numbers values, std::vector<std::string> labels = {}) {
  report::ResultValue made;
  made.name = name;
  made.extents = {values.size()};
  made.values = std::move(values);
  made.labels = std::move(labels);
  return made;
}

/// A launch with a global array A from 0x1010 on and a shared array T at 0x2000. Instructions 3 and 4 visit
/// the regions; instruction 5 is the atomic operation.
report::LaunchRecord launch(Numbers regions, Numbers visits, std::uint64_t operations) {
  report::LaunchRecord record;
  std::uint64_t all = 0;
  for (const std::uint64_t each : visits) all += each;
  record.results = {result("arrays.address", {0x1010, 0x2000}, {"A", "T"}),
                    result("arrays.bytes", {0x800, 0x1000}),
                    result("arrays.shared", {0, 1}),
                    result("regions.instruction", {3, 4}),
                    result("regions.where", std::move(regions)),
                    result("regions.value", std::move(visits)),
                    result("addresses.instruction", {5}),
                    result("addresses.where", {0x1018}),
                    result("addresses.value", {operations}),
                    result("visits", {all}),
                    result("operations", {operations}),
                    result("not_counted", {2})};
  return record;
}

TEST(HotSpots, BelongToTheArraysOfTheirMemory) {
  const report::LaunchRecord first = launch({0x10, 0x20}, {600, 2000}, 3000);
  const report::LaunchRecord second = launch({0x10, 0x10}, {500, 700}, 1);
  const Result<HotSpots> found = hot_spots_of({&first, &second});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->not_counted, 4u);
  ASSERT_EQ(found->spots.size(), 3u);
  const HotSpot& outside = found->spots[0];
  EXPECT_EQ(outside.array, "") << "a shared array has no global addresses";
  EXPECT_EQ(outside.offset, 0x2000u);
  EXPECT_EQ(outside.count, 2000u);
  EXPECT_EQ(outside.bytes, 256u);
  const HotSpot& begin = found->spots[1];
  EXPECT_EQ(begin.array, "A") << "the region begins before it";
  EXPECT_EQ(begin.offset, 0u);
  EXPECT_EQ(begin.count, 1800u);
  EXPECT_DOUBLE_EQ(begin.share, 1800.0 / 3800);
  ASSERT_EQ(begin.sites.size(), 2u);
  EXPECT_EQ(begin.sites[0].instruction, 3u);
  EXPECT_EQ(begin.sites[0].count, 1100u);
  EXPECT_EQ(begin.sites[1].count, 700u);
  const HotSpot& word = found->spots[2];
  EXPECT_EQ(word.kind, HotSpot::Kind::address);
  EXPECT_EQ(word.array, "A");
  EXPECT_EQ(word.offset, 8u);
  EXPECT_EQ(word.count, 3001u);
}

TEST(HotSpots, HaveATenthOfTheTotalAndManyAccesses) {
  const auto counts = [](Numbers visits) {
    const report::LaunchRecord record = launch({0x11, 0x12}, std::move(visits), 0);
    std::vector<std::uint64_t> found;
    const Result<HotSpots> spots = hot_spots_of({&record});
    for (const HotSpot& each : spots->spots) found.push_back(each.count);
    return found;
  };
  EXPECT_EQ(counts({999, 1000}), Numbers{1000});
  EXPECT_EQ(counts({1000, 9001}), Numbers{9001});
  EXPECT_EQ(counts({1000, 9000}), (Numbers{9000, 1000}));
}

TEST(HotSpots, RequireTheirSpecification) {
  report::LaunchRecord other;
  EXPECT_FALSE(hot_spots_of({&other}));
}

}  // namespace
}  // namespace lynxpp::observe
