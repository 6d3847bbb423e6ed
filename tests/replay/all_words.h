// The counts of every word, from runs of words with equal counts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ptx/replay/word_counts.h"

namespace lynxpp::ptx {

/// `words`: the size of the range.
inline std::vector<std::uint64_t> all_words(const std::vector<CountedRun>& runs, std::uint64_t words) {
  std::vector<std::uint64_t> counts(words);
  for (const CountedRun& run : runs)
    std::fill_n(counts.begin() + static_cast<std::ptrdiff_t>(run.first), run.words, run.count);
  return counts;
}

}  // namespace lynxpp::ptx
