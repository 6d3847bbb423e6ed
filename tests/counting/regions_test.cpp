// Divergent regions in loops, compared with the device's own counters.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

#include "tests/cod/test_support.h"
#include "tests/counting/fixture.h"

namespace lynxpp::cod {
namespace {

const std::string next_random = "mad.lo.u32 %r5, %r5, 1664525, 1013904223;\nshr.u32 %r9, %r5, 27;\n";
const std::string store = "st.global.u32 [%rd1], %r8;\nret;";

/// A decision tree over %r9, which is below 32. Three paths reach D; `leaf` is at the end of one of them.
std::string tree(const std::string& leaf = "") {
  return "setp.lt.u32 %p1, %r9, 12;\n@%p1 bra A;\nsetp.lt.u32 %p1, %r9, 18;\n@%p1 bra B;\nsetp.eq.u32 %p1, "
         "%r9, 20;\n@%p1 bra D;\nsetp.lt.u32 %p1, %r9, 25;\n@!%p1 bra C;\nadd.u32 %r8, %r8, 7;\n@%p1 add.u32 "
         "%r8, %r8, %r9;\nbra N;\nA: setp.lt.u32 %p1, %r9, 5;\n@%p1 bra A1;\nsetp.eq.u32 %p1, %r9, 6;\n@%p1 "
         "bra D;\nadd.u32 %r8, %r8, 1;\nbra N;\nA1: setp.lt.u32 %p1, %r9, 2;\n@!%p1 bra A2;\nadd.u32 %r8, "
         "%r8, 2;\nbra D;\nA2: setp.ne.u32 %p2, %r9, 3;\n@%p2 add.u32 %r8, %r8, 11;\nbra N;\n"
         "B: xor.b32 %r8, %r8, %r9;\nbra N;\nC: mul.lo.u32 %r8, %r8, 3;\n" +
         leaf + "bra N;\nD: add.u32 %r8, %r8, 3;\nN: ";
}

/// Executes `body` %r11 times.
std::string loop(const std::string& body) {
  return "L: add.u32 %r7, %r7, 1;\n" + next_random + body + "setp.lt.u32 %p2, %r7, %r11;\n@%p2 bra L;\n" +
         store;
}

const std::string uniform = "mov.u32 %r11, 70;\n";
const std::string one_after_the_other = "and.b32 %r11, %r5, 63;\nadd.u32 %r11, %r11, 20;\n";

void expect_exact(const std::string& body) {
  for (const std::uint32_t threads : {1u, 7u, 32u, 75u}) {
    CountedLaunch launch(module_of("", body), 3, threads);
    launch.native();
    ASSERT_FALSE(testing::Test::HasFatalFailure());
    ASSERT_TRUE(launch.is_exact()) << launch.variant();
    ASSERT_TRUE(launch.has_exact_sums()) << launch.variant();
    ASSERT_TRUE(launch.has_exact_instructions()) << launch.variant();
    ASSERT_TRUE(launch.has_exact_instructions(true));
    ASSERT_TRUE(launch.is_exact(true));
    ASSERT_TRUE(launch.is_exact(false, 75));
    if (threads == 75) launch.expect_exact();  // also assembles it
  }
}

TEST(CountedPaths, LanesThatStayConverged) { expect_exact(uniform + loop(tree())); }

// Lanes exit the loop one after the other, so their counts are combined after it.
TEST(CountedPaths, LanesThatExitTheLoop) { expect_exact(one_after_the_other + loop(tree())); }

TEST(CountedPaths, SomeLanesOfAWarp) {
  expect_exact("setp.gt.u32 %p3, %r5, 2147483648;\n@%p3 bra X;\n" + one_after_the_other +
               "L: add.u32 %r7, %r7, 1;\n" + next_random + tree() +
               "setp.lt.u32 %p2, %r7, %r11;\n@%p2 bra L;\nX: " + store);
}

TEST(CountedPaths, LanesThatHaveExitedTheKernel) {
  expect_exact("setp.gt.u32 %p3, %r5, 3221225472;\n@%p3 ret;\n" + uniform + loop(tree()));
}

// In this case, counts of paths are flushed inside the loop.
TEST(CountedPaths, LanesThatExitTheKernelInTheLoop) {
  const std::string leave = "xor.b32 %r13, %r5, %r7;\nshr.u32 %r13, %r13, 26;\nsetp.eq.u32 %p3, %r13, 5;\n";
  for (const std::string how : {"ret", "exit"})
    expect_exact(one_after_the_other + loop(tree() + leave + "@%p3 " + how + ";\n"));
}

TEST(CountedPaths, NestedLoops) {
  expect_exact(one_after_the_other +
               loop(tree("and.b32 %r12, %r5, 3;\nI: add.u32 %r8, %r8, 1;\nsub.u32 %r12, %r12, "
                         "1;\nsetp.gt.s32 %p3, %r12, 0;\n@%p3 bra I;\n")));
}

TEST(CountedPaths, ConsecutiveRegions) {
  std::string second = tree();
  for (const std::string name : {"A", "B", "C", "D", "N"}) {
    for (std::size_t at = 0; (at = second.find(name, at)) != std::string::npos; at += 2)
      second.insert(at, "M");
  }
  expect_exact(one_after_the_other + loop(tree() + next_random + second));
}

TEST(CountedPaths, ManyPathsThroughABody) {
  std::string leaves;
  std::string choice;
  for (int path = 0; path < 28; ++path) {
    const std::string label = "P" + std::to_string(path);
    choice += "setp.eq.u32 %p1, %r9, " + std::to_string(path) + ";\n@%p1 bra " + label + ";\n";
    leaves += label + ": add.u32 %r8, %r8, " + std::to_string(path) + ";\nbra N;\n";
  }
  expect_exact(one_after_the_other + loop(choice + "bra N;\n" + leaves + "N: "));
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// One block counts two, four or eight times as much as another: factors of equal columns.
TEST(CountedPaths, LongBlocksHaveLargerFactors) {
  for (const int length : {11, 30, 50, 77})
    expect_exact(one_after_the_other + loop(tree(repeated("xor.b32 %r8, %r8, %r4;\n", length))));
}

TEST(CountedPaths, FactorsBeyondAllBits) {
  expect_exact(one_after_the_other + loop(tree(repeated("xor.b32 %r8, %r8, %r4;\n", 700))));
}

/// Branches over the values of %r9 from `first` on, to leaves of a few instructions that branch to one of two
/// ends.
std::string random_tree(std::mt19937& random, std::uint32_t first, std::uint32_t values, int& labels) {
  if (values <= 2 || (values < 6 && random() % 4 == 0)) {
    return repeated("add.u32 %r8, %r8, " + std::to_string(1 + random() % 9) + ";\n",
                    static_cast<int>(random() % 5)) +
           "bra " + (random() % 4 == 0 ? "D" : "N") + ";\n";
  }
  const std::uint32_t below = 1 + static_cast<std::uint32_t>(random()) % (values - 1);
  const std::string label = "T" + std::to_string(labels++);
  const std::string others = random_tree(random, first + below, values - below, labels);
  return "setp.lt.u32 %p1, %r9, " + std::to_string(first + below) + ";\n@%p1 bra " + label + ";\n" + others +
         label + ": " + random_tree(random, first, below, labels);
}

TEST(CountedPaths, RandomTreesMatchTheDevicesCounters) {
  std::mt19937 random(23);
  for (int round = 0; round < 24; ++round) {
    int labels = 0;
    const std::string body = random_tree(random, 0, 32, labels) + "D: add.u32 %r8, %r8, 3;\nN: ";
    CountedLaunch launch(module_of("", one_after_the_other + loop(body)), 2, 20 + 11 * (round % 6));
    launch.native();
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << body;
    ASSERT_TRUE(launch.has_exact_instructions()) << body << launch.variant();
  }
}

// Instructions common to all blocks do not distinguish them.
TEST(CountedPaths, BlocksOfEqualLength) {
  std::string choice, leaves;
  for (int path = 0; path < 9; ++path) {
    const std::string label = "P" + std::to_string(path);
    choice += "setp.eq.u32 %p1, %r9, " + std::to_string(2 * path) + ";\n@%p1 bra " + label + ";\n";
    leaves += label + ": add.u32 %r8, %r8, " + std::to_string(path) + ";\nbra N;\n";
  }
  expect_exact(one_after_the_other + loop(choice + "add.u32 %r8, %r8, 77;\nbra N;\n" + leaves + "N: "));
}

TEST(CountedPaths, FewPaths) {
  expect_exact(uniform + loop("setp.lt.u32 %p1, %r9, 12;\n@%p1 bra N;\nadd.u32 %r8, %r8, 1;\nN: "));
}

// A lane may wait for another one there, which must not wait at the region's end.
TEST(CountedPaths, LanesThatMayWait) {
  expect_exact(uniform + loop(tree("atom.global.add.u32 %r10, [%rd1], 0;\n")));
}

}  // namespace
}  // namespace lynxpp::cod
