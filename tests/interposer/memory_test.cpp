// The program's memory as liblynxpp.so reports it to the fake engine at every launch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/interposer/preload_run.h"
#include "tests/support/readable_name.h"

namespace lynxpp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string listing = attached + "FAKE_ENGINE_ALLOCATIONS=list ";

/// Returns the allocations of each launch, without their addresses, which the fake driver assigns in order.
std::vector<std::vector<std::string>> listed(const Outcome& outcome) {
  std::vector<std::vector<std::string>> result;
  for (const std::string& event : outcome.events_of("engine allocation")) {
    if (event.starts_with("s ")) {
      result.emplace_back();
    } else {
      EXPECT_FALSE(result.empty());
      result.back().push_back(event.substr(1));
    }
  }
  return result;
}

class Memory : public testing::TestWithParam<const char*> {
 protected:
  Outcome run_action(const std::string& action, const std::string& environment = listing) {
    const Outcome result = run_driver(std::string(GetParam()) + " " + action, environment);
    EXPECT_EQ(result.status, 0) << result.errors;
    EXPECT_EQ(result.errors, "");
    return result;
  }
  /// Returns the end of the program's allocation lines.
  std::string by() const {
    return std::string(" by ") +
           (std::string(GetParam()) == "linked" ? "linked_driver_program" : "driver_program");
  }
};

TEST_P(Memory, BoxesOfTensorMapsAreKnown) {
  const Outcome outcome = run_action("tensor_maps", attached + "FAKE_ENGINE_BOXES=1 ");
  EXPECT_THAT(outcome.events_of("engine box"),
              ElementsAre(" unknown", " of 1152 bytes, rank 3, dense", " of 1152 bytes, rank 3, dense",
                          " of 1600 bytes, rank 4, im2col, dense", " unknown"));
}

TEST_P(Memory, EveryKindIsKnownUntilItIsFreed) {
  EXPECT_THAT(
      listed(run_action("memory")),
      ElementsAre(
          ElementsAre("0: 1 bytes at 0x10000 kind 0" + by(), "1: 1536 bytes at 0x10100 kind 0" + by(),
                      "2: 3 bytes at 0x10700 kind 3" + by(), "3: 4 bytes at 0x10800 kind 1" + by(),
                      "4: 5 bytes at 0x10900 kind 1" + by(), "5: 6 bytes at 0x10a00 kind 1" + by(),
                      "6: 7 bytes at 0x10b00 kind 1" + by(), "9: 8 bytes at 0x10c00 kind 4" + by(),
                      "10: 9 bytes at 0x10d00 kind 4" + by(), "7: 4096 bytes at 0x7000000 kind 2" + by(),
                      "8: 4096 bytes at 0x7001000 kind 2" + by(), "11: 10 bytes at 0x8000000 kind 5" + by()),
          IsEmpty()));
}

TEST_P(Memory, ReusedAddressGetsANewNumber) {
  EXPECT_THAT(
      listed(run_action("memory_again")),
      ElementsAre(
          ElementsAre("0: 100 bytes at 0x10000 kind 0" + by(), "1: 200 bytes at 0x10100 kind 0" + by()),
          ElementsAre("1: 200 bytes at 0x10100 kind 0" + by()),
          ElementsAre("2: 100 bytes at 0x10000 kind 0" + by(), "1: 200 bytes at 0x10100 kind 0" + by()),
          // The second registration overlaps the first, which must therefore have ended.
          ElementsAre("2: 100 bytes at 0x10000 kind 0" + by(), "1: 200 bytes at 0x10100 kind 0" + by(),
                      "4: 4096 bytes at 0x8000800 kind 5" + by())));
}

TEST_P(Memory, MemoryThatTheDriverRefusesToFreeStays) {
  const auto launches = listed(run_action("memory_again", listing + "FAKE_DRIVER_KEEPS_MEMORY=1"));
  ASSERT_EQ(launches.size(), 4u);
  EXPECT_THAT(launches[0], testing::SizeIs(2));
  EXPECT_EQ(launches[1], launches[0]);
}

TEST_P(Memory, MemoryEndsWithItsContext) {
  const std::string of_primary[] = {"0: 10 bytes at 0x10000 kind 0" + by(),
                                    "1: 11 bytes at 0x10100 kind 1" + by()};
  const std::string pool = "3: 21 bytes at 0x10300 kind 1" + by();
  const std::string mapping = "4: 30 bytes at 0x7000000 kind 2" + by();
  EXPECT_THAT(
      listed(run_action("memory_of_contexts")),
      ElementsAre(ElementsAre(of_primary[0], of_primary[1], pool, mapping),
                  ElementsAre(of_primary[0], of_primary[1], pool, mapping), ElementsAre(pool, mapping)));
}

TEST_P(Memory, TracksMemoryOfManyThreads) {
  const Outcome result = run_action("memory_of_threads");
  const auto launches = listed(result);
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_THAT(launches[0], testing::SizeIs(8000));
  EXPECT_THAT(launches[1], testing::SizeIs(4000));
  std::set<std::string> numbers;
  for (const std::string& line : launches[0]) numbers.insert(line.substr(0, line.find(':')));
  EXPECT_EQ(numbers.size(), 8000u);
  for (const std::string& event : result.events) {
    EXPECT_THAT(event, Not(HasSubstr("overlap")));
    EXPECT_THAT(event, Not(HasSubstr("changed")));
  }
}

TEST_P(Memory, KnowsMemoryFromBeforeAttaching) {
  const Outcome result = run_action("memory_again setenv=late launch", "FAKE_ENGINE_ALLOCATIONS=list");
  EXPECT_THAT(listed(result), ElementsAre(ElementsAre("2: 100 bytes at 0x10000 kind 0" + by(),
                                                      "1: 200 bytes at 0x10100 kind 0" + by(),
                                                      "4: 4096 bytes at 0x8000800 kind 5" + by())));
}

INSTANTIATE_TEST_SUITE_P(Preload, Memory, testing::Values("linked", "dlsym", "proc", "proc_v1"),
                         ReadableName());

TEST(Preload, SeesFirstVersionsOfTheMemoryFunctions) {
  for (const std::string door : {"linked", "dlsym"}) {
    const Outcome result = run_driver(door + " memory_32", listing);
    EXPECT_EQ(result.status, 0) << result.errors;
    const std::string by = door == "linked" ? " by linked_driver_program" : " by driver_program";
    EXPECT_THAT(
        listed(result),
        ElementsAre(ElementsAre("0: 1 bytes at 0x10000 kind 0" + by, "1: 1536 bytes at 0x10100 kind 0" + by,
                                "2: 3 bytes at 0x10700 kind 4" + by, "3: 4 bytes at 0x8000000 kind 5" + by),
                    ElementsAre("3: 4 bytes at 0x8000000 kind 5" + by)));
  }
}

}  // namespace
}  // namespace lynxpp
