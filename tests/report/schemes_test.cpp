// Values of LYNXPP_WORDS and --words, and the locations of their errors.
#include "instrumentors/gmprof/schemes.h"

#include <gtest/gtest.h>

namespace lynxpp::gmprof {
namespace {

using cod::WordScheme;

WordScheme read(const std::string& text) {
  const Result<WordScheme> scheme = parse_schemes(text, "--words");
  EXPECT_TRUE(scheme.ok()) << text;
  return scheme ? *scheme : WordScheme{};
}

std::string complaint(const std::string& text) {
  const Result<WordScheme> scheme = parse_schemes(text, "--words");
  return scheme ? "understood" : render(scheme.error().diagnostics);
}

TEST(Schemes, EmptyTextIsTheExactDefault) {
  EXPECT_EQ(read(""), WordScheme{});
  EXPECT_EQ(read(" , "), WordScheme{});
  EXPECT_EQ(read("replay"), WordScheme{});
}

TEST(Schemes, OnlyTheDefaultUsesSpareSharedMemory) {
  const std::optional<WordScheme> spare = read("").spare_counters();
  ASSERT_TRUE(spare);
  EXPECT_EQ(*spare, read("shared=32"));
  for (const char* text : {"global", "basic", "static", "plain", "shared=32", "threshold", "sample=2"})
    EXPECT_FALSE(read(text).spare_counters()) << text;
}

TEST(Schemes, AcceptsEachScheme) {
  EXPECT_EQ(read("basic").analysis, WordScheme::Analysis::none);
  EXPECT_EQ(read("static").analysis, WordScheme::Analysis::invariants);
  EXPECT_EQ(read("threshold").threshold, 255u);
  EXPECT_EQ(read(" threshold = 7 , plain").threshold, 7u);
  EXPECT_EQ(read("shared=32").threshold, 0u);
  const WordScheme sampled = read("sample=100,seed=9");
  EXPECT_EQ(sampled.analysis, WordScheme::Analysis::none);
  EXPECT_EQ(sampled.sample, 100u);
  EXPECT_EQ(sampled.seed, 9u);
}

TEST(Schemes, SmallCountersSaturateAtTheirMaximum) {
  EXPECT_EQ(read("shared=8").threshold, 255u);
  EXPECT_EQ(read("shared=16").threshold, 65535u);
  EXPECT_EQ(read("shared=8,threshold=9").threshold, 9u);
}

TEST(Schemes, ReportsTheErrorAndItsLocation) {
  const auto expect_place = [](const std::string& text, const std::string& column, const std::string& words) {
    EXPECT_NE(complaint(text).find("--words:1:" + column + ": error: " + words), std::string::npos)
        << complaint(text);
  };
  expect_place("statc", "1", "unknown scheme 'statc'");
  EXPECT_NE(complaint("statc").find("did you mean 'static'?"), std::string::npos);
  expect_place("static,basic", "8", "'basic' and 'static' cannot be combined");
  expect_place("plain,plain", "7", "'plain' is specified twice");
  expect_place("plain=1", "1", "'plain' takes no number");
  expect_place("plain,shared=12", "7", "counters in shared memory must have 8, 16 or 32 bits");
  expect_place("threshold=0", "1", "'threshold' must be between 1 and 2147483647");
  expect_place("threshold=4294967296", "1", "'threshold' must be between 1 and 2147483647");
  expect_place("sample=1", "1", "'sample' must be at least 2");
  expect_place("sample=ten", "1", "'sample' must be at least 2");
  expect_place("seed=4", "1", "'seed' requires 'sample'");
  expect_place("plain,sample=10", "1", "sampling counts accesses one by one");
  expect_place("static,sample=10", "1", "sampling counts accesses one by one");
  expect_place("global,shared=8", "1", "'global' and 'shared' cannot be combined");
  expect_place("shared=8,threshold=256", "1", "a counter of 8 bits does not reach 256");
}

}  // namespace
}  // namespace lynxpp::gmprof
