// Counts of accesses to each 4-byte word of a range of memory, computed from accesses of boxes of threads
// without iterating over single threads. The work follows the accesses and not the size of the range.
//
// Threads with adjacent addresses access a row of words: only where a row begins and ends does the count of a
// word differ from that of the previous word. Counts are kept as such differences. For boxes of many rows, or
// of words that are not adjacent, whole boxes are added to differences of the entire range: a box accesses the
// words base + Σ stride × (0 … extent - 1); its histogram is the product over the dimensions of
// (1 + z^stride + z^(2 stride) + …) = (1 - z^(stride extent)) / (1 - z^stride). So a box changes a few values,
// and one running sum per stride completes all boxes with the same strides.
//
//   WordCounts words(address, bytes);
//   words.add(access);                  // any number of times
//   words.finish();                     // runs of words with equal counts
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "ptx/replay/replay.h"

namespace lynxpp::ptx {

/// Adjacent words that are accessed equally often.
struct CountedRun {
  std::uint64_t first = 0;  ///< relative to the range
  std::uint64_t words = 0;
  std::uint64_t count = 0;  ///< of each word; not 0

  bool operator==(const CountedRun&) const = default;
};

class WordCounts {
 public:
  /// Counts words of [address, address + bytes); the first word begins at `address`, a multiple of 4.
  WordCounts(std::uint64_t address, std::uint64_t bytes);

  /// True if the access is entirely inside the range.
  bool holds(const ReplayedAccess& access) const;
  /// Adds one per thread to every word that it touches. Precondition: holds(access), and addresses are
  /// multiples of the access's size up to 4, as PTX requires.
  void add(const ReplayedAccess& access);
  /// Returns the accessed words in order, in runs that are as long as possible, and clears the object.
  std::vector<CountedRun> finish();

 private:
  /// Addresses with equal distances, in bytes.
  struct Steps {
    std::uint64_t stride = 1;
    std::uint64_t extent = 1;
  };
  using Strides = std::vector<std::uint64_t>;
  /// `amount`, modulo 2^64, is the count of word `at` minus that of the word before it.
  struct Difference {
    std::uint64_t at = 0;
    std::uint64_t amount = 0;
  };

  static std::vector<Steps> merge(std::vector<Steps> dimensions);
  void add_rows(std::uint64_t base, const Steps& row, const std::vector<Steps>& others, std::uint64_t weight);
  void add_row(std::uint64_t base, const Steps& row, std::uint64_t weight);
  void add_run(std::uint64_t first, std::uint64_t words, std::uint64_t weight);
  void add_box(std::uint64_t base, const std::vector<Steps>& dimensions, std::uint64_t weight);
  void combine();
  std::vector<CountedRun> runs() const;

  std::uint64_t address_;
  std::uint64_t bytes_;
  std::uint64_t words_;
  std::uint64_t rows_left_;  ///< that may be added one by one
  std::vector<Difference> differences_;
  /// By strides, in words: differences whose running sums are counts of all words.
  std::map<Strides, std::vector<std::uint64_t>> by_strides_;
};

}  // namespace lynxpp::ptx
