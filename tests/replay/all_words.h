// The counts of every word of a range.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "ptx/replay/word_counts.h"

namespace lynxpp::ptx {

/// Returns the counts of the range's `words` words. Runs must be ascending and as long as possible.
inline std::vector<std::uint64_t> all_words(WordCounts& counts, std::uint64_t words) {
  std::vector<std::uint64_t> all;
  std::uint64_t last = 0;  // count of the last run
  EXPECT_TRUE(counts.finish([&](std::uint64_t first, std::uint64_t number, std::uint64_t count) {
    EXPECT_NE(number, 0u);
    EXPECT_NE(count, 0u);
    EXPECT_GE(first, all.size());
    EXPECT_FALSE(first == all.size() && count == last);
    all.resize(first);
    all.insert(all.end(), number, count);
    last = count;
  }));
  EXPECT_LE(all.size(), words);
  all.resize(words);
  return all;
}

}  // namespace lynxpp::ptx
