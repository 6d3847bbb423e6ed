// Kernels of any size and random decision trees, compared with the device's own counters.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

#include "tests/cod/test_support.h"
#include "tests/counting/fixture.h"

namespace lynxpp::cod {
namespace {

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// One block counts two, four or eight times as much as another: factors of equal columns. The longest has
// factors beyond all bits.
TEST(CountedRegions, LongBlocksHaveLargerFactors) {
  for (const int length : {11, 30, 50, 77, 700}) {
    std::string ptx = golden_kernel("regions/lanes_exit_the_loop").input;
    ptx.insert(ptx.find("bra N;", ptx.find(" C: ")), repeated("xor.b32 %r8, %r8, %r4;\n", length));
    for (const std::uint32_t threads : {1u, 7u, 32u, 75u}) {
      CountedLaunch launch(ptx, 3, threads);
      launch.native();
      for (const Form form : derived_forms) ASSERT_TRUE(launch.is_exact(form)) << launch.variant();
      ASSERT_TRUE(launch.has_exact_sums()) << launch.variant();
      ASSERT_TRUE(launch.has_exact_instructions()) << launch.variant();
      ASSERT_TRUE(launch.has_exact_instructions(Form::wide)) << launch.variant();
    }
  }
}

TEST(CountedRegions, MoreConditionsThanBitsAreExact) {
  std::string body;
  for (int i = 0; i < 110; ++i) {
    const std::string label = "Skip" + std::to_string(i);
    body +=
        "mad.lo.u32 %r5, %r5, 1664525, 1013904223;\nshr.u32 %r9, %r5, 20;\nand.b32 %r9, %r9, "
        "31;\nsetp.ne.u32 %p1, %r9, 3;\n@%p1 bra " +
        label + ";\nadd.u32 %r8, %r8, 1;\n" + label + ":\n";
  }
  for (const std::uint32_t threads : {5u, 75u}) {
    CountedLaunch launch(module_of("", body + "st.global.u32 [%rd1], %r8;\nret;"), 2, threads);
    launch.native();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(launch.is_exact());
    if (has_ptxas()) {
      EXPECT_EQ(ptxas_errors(launch.variant(), 80), "");
    }
  }
}

/// Executes the body 20 to 83 times; %r9 is random and below 32.
std::string loop_over(const std::string& body) {
  return "and.b32 %r11, %r5, 63;\nadd.u32 %r11, %r11, 20;\nL: add.u32 %r7, %r7, 1;\nmad.lo.u32 %r5, %r5, "
         "1664525, 1013904223;\nshr.u32 %r9, %r5, 27;\n" +
         body + "setp.lt.u32 %p2, %r7, %r11;\n@%p2 bra L;\nst.global.u32 [%rd1], %r8;\nret;";
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

TEST(CountedRegions, RandomTreesMatchTheDevicesCounters) {
  std::mt19937 random(23);
  for (int round = 0; round < 24; ++round) {
    int labels = 0;
    const std::string body = random_tree(random, 0, 32, labels) + "D: add.u32 %r8, %r8, 3;\nN: ";
    CountedLaunch launch(module_of("", loop_over(body)), 2, 20 + 11 * (round % 6));
    launch.native();
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << body;
    ASSERT_TRUE(launch.has_exact_instructions()) << body << launch.variant();
  }
}

}  // namespace
}  // namespace lynxpp::cod
