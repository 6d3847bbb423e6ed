// countWords(): every word of shared and of device memory has the count that the device has, whether its
// accesses have probes or are replayed.
#include <gtest/gtest.h>

#include "tests/cod/conformance_fixture.h"
#include "tests/cod/test_support.h"

namespace lynxpp::cod {
namespace {

/// A handler that only counts, of which accesses may be replayed, and one that has a condition, which every
/// lane meets and which keeps the probes.
std::string counting(const std::string& extent, const std::string& space, bool with_probes) {
  const std::string count = with_probes ? "if (laneId() < 32) countWords(words);" : "countWords(words);";
  return "global unsigned long words[" + extent + "];\n" + "ON_INSTRUCTION: MEM_READ: MEM_WRITE: " + space +
         ": { " + count + " }\n" + "ON_INSTRUCTION: MEM_READ: MEM_WRITE: GENERIC: { " + count + " }\n";
}

using Counts = std::map<std::uint64_t, std::uint64_t>;

/// Elements that are not zero.
Counts counts_of(const std::vector<std::uint64_t>& words) {
  Counts counts;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != 0) counts[i] = words[i];
  }
  return counts;
}

struct Case {
  const char* kernel;
  Shape shape;
};

class Words : public testing::TestWithParam<std::tuple<Case, bool>> {};

TEST_P(Words, OfDeviceMemoryHaveTheDevicesCounts) {
  const auto& [launched, with_probes] = GetParam();
  const Measured measured =
      measure(counting("DEVICE_WORDS", "GLOBAL", with_probes), launched.shape, launched.kernel);
  ASSERT_EQ(measured.failure, "");
  ASSERT_EQ(measured.arrays.size(), 1u);
  EXPECT_FALSE(measured.device_words.empty());
  EXPECT_EQ(counts_of(measured.arrays[0]), measured.device_words);
  EXPECT_EQ(measured.dropped, 0u);
}

TEST_P(Words, OfSharedMemoryHaveTheDevicesCounts) {
  const auto& [launched, with_probes] = GetParam();
  const Measured measured =
      measure(counting("SHARED_WORDS", "SHARED", with_probes), launched.shape, launched.kernel);
  ASSERT_EQ(measured.failure, "");
  ASSERT_EQ(measured.arrays.size(), 1u);
  ASSERT_TRUE(measured.counters.words);
  EXPECT_EQ(counts_of(measured.arrays[0]),
            Counts(measured.counters.words->shared.begin(), measured.counters.words->shared.end()));
  EXPECT_EQ(measured.dropped, 0u);
}

constexpr Shape small = {{3, 2, 1}, {45, 1, 1}};
constexpr Shape whole = {{64, 1, 1}, {32, 1, 1}};
constexpr Shape deep = {{2, 2, 2}, {5, 3, 3}};

std::string name_of_case(const testing::TestParamInfo<std::tuple<Case, bool>>& instance) {
  const auto& [launched, with_probes] = instance.param;
  return std::string(launched.kernel) + "_" + std::to_string(launched.shape.blocks()) + "x" +
         std::to_string(launched.shape.threads()) + (with_probes ? "_probes" : "_replayed");
}

INSTANTIATE_TEST_SUITE_P(Kernels, Words,
                         testing::Combine(testing::Values(Case{"straight", small}, Case{"straight", whole},
                                                          Case{"straight", deep}, Case{"divergent", small},
                                                          Case{"exchange", small}, Case{"early", small},
                                                          Case{"edges", small}, Case{"patterns", whole}),
                                          testing::Bool()),
                         name_of_case);

}  // namespace
}  // namespace lynxpp::cod
