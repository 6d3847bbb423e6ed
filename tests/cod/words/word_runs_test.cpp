// Counts of words without elements: their statistics are computed once, and very many runs are found again.
#include <gtest/gtest.h>

#include <stdexcept>

#include "cod/word_statistics.h"

namespace lynxpp::cod {
namespace {

WordRuns::Runs every_second_word(std::uint64_t runs) {
  WordRuns::Runs found;
  for (std::uint64_t i = 0; i < runs; ++i) found.push_back({2 * i, 1, 1 + i % 2});
  return found;
}

TEST(WordRuns, AreReleasedIfTheyAreVeryManyAndFoundAgain) {
  constexpr std::uint64_t many = (std::uint64_t{1} << 21) + 1;
  int found_again = 0;
  WordRuns runs(every_second_word(many), [&] {
    ++found_again;
    return every_second_word(many);
  });
  const MemoryArray array{"a", 0, 2 * many};
  EXPECT_EQ(runs.statistics(array).accesses, many / 2 * 3 + 1);
  runs.release();
  EXPECT_EQ(runs.statistics(array).never, many);
  EXPECT_TRUE(runs.has_counts(array.first, array.words));
  EXPECT_EQ(found_again, 0) << "what is known needs no runs";
  EXPECT_EQ(runs.runs()->size(), many);
  EXPECT_EQ(found_again, 1);
}

TEST(WordRuns, AreKeptIfTheyAreFew) {
  WordRuns runs(every_second_word(100), []() -> WordRuns::Runs { throw std::logic_error("not released"); });
  runs.release();
  EXPECT_EQ(runs.runs()->size(), 100u);
  EXPECT_EQ(runs.statistics({"a", 0, 200}).stride, 2u);
  EXPECT_FALSE(runs.has_counts(1, 1));
}

TEST(WordRuns, HaveStatisticsForEachArray) {
  const WordRuns runs(every_second_word(100));
  EXPECT_EQ(runs.statistics({"a", 0, 100}).once, 25u);
  EXPECT_EQ(runs.statistics({"b", 100, 50}).accesses, 37u);
  EXPECT_EQ(runs.statistics({"c", 300, 50}).never, 50u);
}

}  // namespace
}  // namespace lynxpp::cod
