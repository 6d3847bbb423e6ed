#include "cod/word_map.h"

#include <gtest/gtest.h>

#include <set>

namespace lynxpp::cod {
namespace {

constexpr std::uint64_t page = std::uint64_t{1} << WordMap::page_bits;
constexpr std::uint64_t base = 0x7f0000000000;
constexpr std::uint64_t words_of_page = page / 4;

TEST(WordMap, CountsNearRangesInOneStretch) {
  const WordMap map({{base + 5 * page, 100}, {base, 2 * page}, {base + 2 * page + 64, page}});
  EXPECT_EQ(map.window().begin, base);
  EXPECT_EQ(map.window().bytes, 6 * page);
  for (const std::uint64_t at : {0ul, 4ul, 2 * page + 64, 5 * page + 96})
    EXPECT_EQ(map.element_of(base + at), words_of_page + at / 4);
  EXPECT_EQ(map.words(), (6 + 2) * words_of_page);
}

TEST(WordMap, ExcludesRangesFarFromMost) {
  const WordMap map({{base, page}, {base + 100 * page, 3 * page}, {base + (1ull << 40), page}});
  EXPECT_EQ(map.window().begin, base + 100 * page);
  EXPECT_EQ(map.window().bytes, 3 * page);
  std::set<std::uint64_t> elements;
  for (const std::uint64_t at : {std::uint64_t{0}, 100 * page, 102 * page, std::uint64_t{1} << 40})
    elements.insert(map.element_of(base + at).value());
  EXPECT_EQ(elements.size(), 4u);
  // Margins of the window have counts but are in no range.
  EXPECT_FALSE(map.element_of(base + 99 * page));
  EXPECT_FALSE(map.element_of(base + 103 * page));
  EXPECT_FALSE(elements.contains(0)) << "a margin's";
  EXPECT_EQ(map.words(), (3 + 2 + 2) * words_of_page);
}

TEST(WordMap, SelectsTheStretchWithMostBytesNotMostPages) {
  const WordMap map({{base - 4, 8}, {base + page, 4}, {base + 100 * page, page}});
  EXPECT_EQ(map.window().begin, base + 100 * page);
  EXPECT_EQ(map.window().bytes, page);
}

TEST(WordMap, SpendsNoMoreOnGapsThanIsUsed) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (std::uint64_t i = 0; i < 100; ++i) ranges.emplace_back(base + 32 * i * page, page);
  const WordMap map(ranges);
  const std::uint64_t used = 100;
  EXPECT_LE(map.words(), (2 * used + 64 + 2) * words_of_page);
  for (const auto& [begin, bytes] : ranges) EXPECT_TRUE(map.element_of(begin));
}

TEST(WordMap, IsWithoutAWindowIfEmpty) {
  const WordMap map({{base, 0}});
  EXPECT_EQ(map.window().bytes, 0u);
  EXPECT_EQ(map.words(), 0u);
  EXPECT_FALSE(map.element_of(base));
}

}  // namespace
}  // namespace lynxpp::cod
