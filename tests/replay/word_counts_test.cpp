#include "ptx/replay/word_counts.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/replay/all_words.h"

namespace lynxpp::ptx {
namespace {

/// Counts thread by thread.
void count(const ReplayedAccess& access, std::uint64_t address, std::vector<std::uint64_t>& words,
           ThreadBox box, std::size_t dimension = 0) {
  if (dimension == thread_dimensions) {
    const auto at = static_cast<std::uint64_t>(range_of(access.address, box).least) - address;
    for (std::uint64_t word = at / 4; word <= (at + access.bytes - 1) / 4; ++word) ++words[word];
    return;
  }
  for (std::uint32_t at = access.box.first[dimension]; at <= access.box.last[dimension]; ++at) {
    box.first[dimension] = box.last[dimension] = at;
    count(access, address, words, box, dimension + 1);
  }
}

TEST(WordCounts, MatchEveryThread) {
  std::mt19937 random(3);
  const auto pick = [&](int least, int greatest) {
    return std::uniform_int_distribution<int>(least, greatest)(random);
  };
  constexpr std::uint64_t address = 4096, bytes = 40000;
  for (int round = 0; round < 200; ++round) {
    WordCounts counts(address, bytes);
    std::vector<std::uint64_t> expected(bytes / 4);
    int added = 0;
    // With many boxes, a few rows are counted one by one, and the rest for the whole range.
    const int boxes = round % 10 == 0 ? 400 : 6;
    for (int i = 0; i < boxes; ++i) {
      ReplayedAccess access;
      access.bytes = 1u << pick(0, 4);
      const int unit = static_cast<int>(access.bytes);
      for (std::size_t d = 0; d < first_bit_dimension + 2; ++d) {
        const bool is_bit = d >= first_bit_dimension;
        access.box.first[d] = is_bit ? 0 : static_cast<std::uint32_t>(pick(0, 3));
        const int most = boxes > 6 || is_bit ? 1 : 3;
        access.box.last[d] = access.box.first[d] + static_cast<std::uint32_t>(pick(0, d == 0 ? 31 : most));
        access.address.coefficients[d] = pick(0, 2) == 0 ? 0 : unit * pick(-20, 20);
      }
      access.address.coefficients[0] = unit * pick(0, 3);
      access.address.constant = address + 20000 / unit * unit;
      if (!counts.holds(access)) continue;
      counts.add(access);
      count(access, address, expected, access.box);
      ++added;
    }
    ASSERT_EQ(all_words(counts, bytes / 4), expected) << round;
    ASSERT_NE(added, 0);
  }
}

TEST(WordCounts, RecogniseAccessesInTheirRange) {
  const WordCounts counts(100, 20);
  ReplayedAccess access;
  access.bytes = 8;
  access.address = number(112);
  EXPECT_TRUE(counts.holds(access));
  access.address = number(116);
  EXPECT_FALSE(counts.holds(access));
  access.address = number(96);
  EXPECT_FALSE(counts.holds(access));
}

TEST(WordCounts, CombineManyBoxesWithEqualStrides) {
  // A row of 4096 words by 16 blocks of 256 threads, 1000 times.
  WordCounts counts(0, 4 * 4096);
  ReplayedAccess access;
  access.bytes = 4;
  access.box.last[0] = 255;
  access.box.last[3] = 15;
  access.address.coefficients[0] = 4;
  access.address.coefficients[3] = 1024;
  for (int i = 0; i < 1000; ++i) counts.add(access);
  EXPECT_EQ(all_words(counts, 4096), std::vector<std::uint64_t>(4096, 1000));
}

/// The runs that finish() visits.
std::vector<std::vector<std::uint64_t>> runs_of(WordCounts& counts) {
  std::vector<std::vector<std::uint64_t>> runs;
  EXPECT_TRUE(counts.finish([&](std::uint64_t first, std::uint64_t words, std::uint64_t count) {
    runs.push_back({first, words, count});
  }));
  return runs;
}

/// An access of `threads` threads, with addresses `stride` bytes apart.
ReplayedAccess row_of(std::int64_t address, std::uint32_t bytes, std::int64_t stride, std::uint32_t threads) {
  ReplayedAccess access;
  access.bytes = bytes;
  access.box.last[0] = threads - 1;
  access.address.coefficients[0] = stride;
  access.address.constant = address;
  return access;
}

constexpr std::uint64_t huge = std::uint64_t{1} << 60;

TEST(WordCounts, TakeNoMemoryForWordsThatAreNotAccessed) {
  WordCounts counts(0, huge);
  constexpr std::int64_t far = std::int64_t{1} << 50;
  counts.add(row_of(far + 2, 2, 2, 5));
  const std::uint64_t first = far / 4;
  EXPECT_EQ(runs_of(counts), (std::vector<std::vector<std::uint64_t>>{{first, 1, 1}, {first + 1, 2, 2}}));
}

/// Counts rows at one address of a large range again and again, then at addresses before and after it.
TEST(WordCounts, GrowWithTheTouchedPart) {
  WordCounts counts(0, huge);
  constexpr std::int64_t far = std::int64_t{1} << 50;
  for (int i = 0; i < 5000; ++i) counts.add(row_of(far, 4, 8, 3));
  counts.add(row_of(far - 4096, 4, 4, 2));
  counts.add(row_of(far + 8192, 1, 3, 4));
  counts.add(row_of(far - 65536, 2, 6, 2));
  const std::uint64_t first = far / 4;
  EXPECT_EQ(runs_of(counts), (std::vector<std::vector<std::uint64_t>>{{first - 16384, 2, 1},
                                                                      {first - 1024, 2, 1},
                                                                      {first, 1, 5000},
                                                                      {first + 2, 1, 5000},
                                                                      {first + 4, 1, 5000},
                                                                      {first + 2048, 1, 2},
                                                                      {first + 2049, 2, 1}}));
}

/// One box for each thread of a block, each in all blocks: together all words.
TEST(WordCounts, JoinBoxesOfEqualShape) {
  constexpr std::uint32_t blocks = 1 << 20, threads = 1000;
  WordCounts counts(0, huge);
  for (std::uint32_t thread = 0; thread < threads; ++thread)
    counts.add(row_of(4 * thread, 4, 4 * threads, blocks));
  EXPECT_EQ(runs_of(counts),
            (std::vector<std::vector<std::uint64_t>>{{0, std::uint64_t{blocks} * threads, 1}}));
}

TEST(WordCounts, RefuseWhatTakesTooMuchMemory) {
  WordCounts counts(0, huge);
  counts.add(row_of(0, 4, 1 << 20, 1 << 25));
  EXPECT_FALSE(counts.finish([](auto...) { FAIL(); }));
}

}  // namespace
}  // namespace lynxpp::ptx
