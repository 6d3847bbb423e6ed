// Counts of accesses to each 4-byte word of a range of memory, computed from accesses of boxes of threads
// without iterating over single threads. Time and memory depend on the accesses, not on the range's size.
//
// Threads with adjacent addresses access a row of words: only where a row begins and ends does the count of a
// word differ from that of the word before. These differences are kept one by one while there are few rows.
// Beyond that, whole boxes change a few differences of all words between the least and the greatest address:
// a box accesses the words base + Σ stride × (0 … extent - 1); its histogram is the product over the
// dimensions of (1 + z^stride + z^(2 stride) + …) = (1 - z^(stride extent)) / (1 - z^stride). One running sum
// per stride completes all boxes with the same strides.
//
//   WordCounts words(address, bytes);
//   words.add(access);                                        // any number of times
//   words.finish([](first, number, count) { … });             // runs of words with equal counts
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "ptx/replay/replay.h"

namespace lynxpp::ptx {

class WordCounts {
 public:
  /// Counts words of [address, address + bytes); the first word begins at `address`, a multiple of 4.
  WordCounts(std::uint64_t address, std::uint64_t bytes);

  /// True if the access is entirely inside the range.
  bool holds(const ReplayedAccess& access) const;
  /// Adds one per thread to every word that it touches. Returns false if that takes too much memory; the
  /// counts are then incomplete. Precondition: holds(access), and addresses are multiples of the access's
  /// size up to 4, as PTX requires.
  [[nodiscard]] bool add(const ReplayedAccess& access);
  /// Calls visit(first, words, count) for the accessed words in order, in runs of equal counts that are as
  /// long as possible; `first` is relative to the range. Clears the object.
  void finish(const std::function<void(std::uint64_t, std::uint64_t, std::uint64_t)>& visit);

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
  void extend_hull(std::uint64_t base, const std::vector<Steps>& dimensions);
  bool is_time_for_boxes() const;
  bool make_room_for_boxes();
  void add_boxes(std::uint64_t base, std::vector<Steps> dimensions, std::uint64_t weight);
  void add_box(std::uint64_t base, const std::vector<Steps>& dimensions, std::uint64_t weight);
  void combine();
  std::vector<std::uint64_t> sums_of_boxes();

  std::uint64_t address_;
  std::uint64_t bytes_;
  std::uint64_t words_;
  std::uint64_t rows_ = 0;     ///< added one by one
  std::uint64_t combined_at_;  ///< number of `differences_` at which they are combined next
  std::vector<Difference> differences_;
  /// The words that may differ from their predecessors: [first_, end_).
  std::uint64_t first_, end_ = 0;
  /// By strides, in words: differences of the `size_` words from `begin_` on, whose running sums are counts.
  std::map<Strides, std::vector<std::uint64_t>> by_strides_;
  std::uint64_t begin_ = 0, size_ = 0;
};

}  // namespace lynxpp::ptx
