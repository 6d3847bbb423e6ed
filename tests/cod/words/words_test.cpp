// countWords(): every word of shared and device memory has the device's count, whether its accesses have
// probes or are replayed.
#include <gtest/gtest.h>

#include "tests/cod/conformance_fixture.h"
#include "tests/cod/test_support.h"
#include "tests/support/readable_name.h"

namespace lynxpp::cod {
namespace {

/// A handler that only counts, so that accesses may be replayed, and one with a condition that every lane
/// meets and that requires probes.
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

TEST_P(Words, InDeviceMemoryMatchTheDevicesCounts) {
  const auto& [launched, with_probes] = GetParam();
  const Measured measured =
      measure(counting("DEVICE_WORDS", "GLOBAL", with_probes), launched.shape, launched.kernel);
  ASSERT_EQ(measured.failure, "");
  ASSERT_EQ(measured.arrays.size(), 1u);
  EXPECT_FALSE(measured.device_words.empty());
  EXPECT_EQ(counts_of(measured.arrays[0]), measured.device_words);
  EXPECT_EQ(measured.dropped, 0u);
}

TEST_P(Words, InSharedMemoryMatchTheDevicesCounts) {
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

std::string counting_every_access(const std::string& type, const std::string& extent,
                                  const std::string& space) {
  return "global unsigned " + type + " words[" + extent + "];\n" +
         "ON_INSTRUCTION: MEM_READ: MEM_WRITE: " + space + ": { countWords(words); }\n";
}

/// Elements of 32 bits that differ from their value before the launch, as the amount added modulo 2^32.
Counts added_to_halves(const std::vector<std::uint64_t>& words, std::uint32_t initial) {
  Counts counts;
  for (std::size_t i = 0; i < 2 * words.size(); ++i) {
    const auto count = static_cast<std::uint32_t>(words[i / 2] >> (i % 2 * 32)) - initial;
    if (count != 0) counts[i] = count;
  }
  return counts;
}

class WordsInWindow : public testing::TestWithParam<std::tuple<const char*, std::uint64_t>> {};

TEST_P(WordsInWindow, MatchTheDevicesCountsInsideAndOutside) {
  const auto& [kernel, bytes] = GetParam();
  const Measured wide = measure_with_probes(counting_every_access("long", "DEVICE_WORDS", "GLOBAL"), whole,
                                            kernel, {.bytes_in_window = bytes});
  ASSERT_EQ(wide.failure, "");
  EXPECT_EQ(counts_of(wide.arrays[0]), wide.device_words);
  EXPECT_EQ(wide.dropped, 0u);
  const Measured narrow = measure_with_probes(counting_every_access("int", "DEVICE_WORDS", "GLOBAL"), whole,
                                              kernel, {.bytes_in_window = bytes});
  ASSERT_EQ(narrow.failure, "");
  EXPECT_EQ(added_to_halves(narrow.arrays[0], 0), narrow.device_words);
  EXPECT_EQ(narrow.dropped, 0u);
}

/// Each counter starts at its maximum and wraps around; its neighbours must not change.
TEST_P(WordsInWindow, WrapAroundIndependently) {
  const auto& [kernel, bytes] = GetParam();
  const Measured measured =
      measure_with_probes(counting_every_access("int", "DEVICE_WORDS", "GLOBAL"), whole, kernel,
                          {.bytes_in_window = bytes, .initial = ~std::uint64_t{0}});
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(added_to_halves(measured.arrays[0], ~std::uint32_t{0}), measured.device_words);
}

/// Each counter starts near its maximum, where it saturates.
TEST_P(WordsInWindow, SaturateInLongLaunches) {
  const auto& [kernel, bytes] = GetParam();
  constexpr std::uint64_t room = 2, initial = 0xffffffff - room;
  const Measured measured =
      measure_with_probes(counting_every_access("int", "DEVICE_WORDS", "GLOBAL"), whole, kernel,
                          {.bytes_in_window = bytes, .initial = initial << 32 | initial, .saturates = true});
  ASSERT_EQ(measured.failure, "");
  Counts expected;
  for (const auto& [word, count] : measured.device_words) expected[word] = std::min(count, room);
  EXPECT_EQ(added_to_halves(measured.arrays[0], initial), expected);
}

INSTANTIATE_TEST_SUITE_P(Bytes, WordsInWindow,
                         testing::Combine(testing::Values("straight", "edges", "patterns"),
                                          testing::Values(0, 4096, 1u << 20)),
                         ReadableName());

TEST(WordsOfShared, MatchTheDevicesCountsWithAProbeAtEveryAccess) {
  for (const char* kernel : {"exchange", "outside", "patterns"}) {
    const Measured measured =
        measure_with_probes(counting_every_access("long", "SHARED_WORDS", "SHARED"), whole, kernel, {});
    ASSERT_EQ(measured.failure, "");
    EXPECT_EQ(counts_of(measured.arrays[0]),
              Counts(measured.counters.words->shared.begin(), measured.counters.words->shared.end()))
        << kernel;
    EXPECT_EQ(measured.dropped, 0u);
  }
}

/// Counters of a block have 32 bits and are added to 64-bit ones. Each starts so close to its maximum that it
/// wraps around in some words only.
TEST(WordsOfShared, CarryFromCountersOfTheBlock) {
  constexpr std::uint32_t initial = 0xffffffff - 1;
  for (const char* kernel : {"exchange", "outside", "patterns"}) {
    for (const bool in_line : {true, false}) {
      const Measured measured =
          measure_with_probes(counting_every_access("long", "SHARED_WORDS", "SHARED"), whole, kernel,
                              {.initial_in_block = initial, .in_line = in_line});
      ASSERT_EQ(measured.failure, "");
      Counts counts;
      for (std::size_t i = 0; i < measured.arrays[0].size(); ++i) {
        const std::uint64_t added = measured.arrays[0][i] - whole.blocks() * initial;
        if (added != 0) counts[i] = added;
      }
      EXPECT_EQ(counts,
                Counts(measured.counters.words->shared.begin(), measured.counters.words->shared.end()))
          << kernel << (in_line ? " in line" : " by the routine");
    }
  }
}

/// One address for all threads; the guards select lanes, warps and blocks.
TEST(WordsOfOneAddress, CountTheThreadsThatMakeTheAccess) {
  const std::string module = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .b32 %q<6>;
  .reg .b64 %qd<2>;
  .reg .pred %g<5>;
  ld.param.u64 %qd1, [in];
  mov.u32 %q1, %tid.x;
  mov.u32 %q2, %ctaid.x;
  shr.u32 %q3, %q1, 5;
  setp.lt.u32 %g1, %q1, 5;
  setp.eq.u32 %g2, %q3, 1;
  setp.lt.u32 %g3, %q2, 2;
  @%g1 ld.global.u32 %q4, [%qd1];
  @!%g2 ld.global.u32 %q4, [%qd1+4];
  @%g3 ld.global.u32 %q4, [%qd1+8];
  ld.global.u32 %q4, [%qd1+12];
  ret;
}
)";
  const std::string counting = counting_every_access("long", "DEVICE_WORDS", "GLOBAL");
  const Shape shape{{7, 1, 1}, {96, 1, 1}};
  for (const char* scheme : {"", "basic", "static"}) {
    const Measured measured = measure_module_with_probes(counting, shape, module, {.scheme = scheme});
    ASSERT_EQ(measured.failure, "");
    std::vector<std::uint64_t> counts;
    for (const auto& [word, count] : counts_of(measured.arrays[0])) counts.push_back(count);
    EXPECT_EQ(counts, (std::vector<std::uint64_t>{7 * 5, 7 * 64, 2 * 96, 7 * 96})) << scheme;
    EXPECT_EQ(counts_of(measured.arrays[0]), measured.device_words) << scheme;
  }
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
