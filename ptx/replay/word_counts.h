// Counts of accesses to each 4-byte word of a range of memory, computed from accesses of boxes of threads
// without iterating over single threads. Time and memory depend on the accesses, not on the range's size.
//
// A box of threads accesses the words base + Σ stride × (0 … extent - 1). Its dimension with the least
// stride is a *row* of adjacent words; the others are its *shape*. Counts of rows are kept for each shape as
// differences: where a row begins and ends, the count of a word differs from that of the word before. So
// boxes of one shape whose rows are adjacent, as those of single threads in all thread blocks, become one
// box.
//
// At the end, boxes are divided into rows while these are few. Beyond that, they change a few differences of
// all words between the least and the greatest address: the histogram of a box is the product over the
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
  /// Adds one per thread to every word that it touches. Precondition: holds(access), and addresses are
  /// multiples of the access's size up to 4, as PTX requires.
  void add(const ReplayedAccess& access);
  /// Calls visit(first, words, count) for the accessed words in order, in runs of equal counts that are as
  /// long as possible; `first` is relative to the range. Returns false, and visits nothing, if that takes too
  /// much memory. Call it once.
  [[nodiscard]] bool finish(const std::function<void(std::uint64_t, std::uint64_t, std::uint64_t)>& visit);

 private:
  /// Addresses with equal distances, in bytes.
  struct Steps {
    std::uint64_t stride = 1;
    std::uint64_t extent = 1;
    auto operator<=>(const Steps&) const = default;
  };
  using Dimensions = std::vector<Steps>;
  using Strides = std::vector<std::uint64_t>;
  /// `amount`, modulo 2^64, is the count of word `at` minus that of the word before it.
  struct Difference {
    std::uint64_t at = 0;
    std::uint64_t amount = 0;
  };

  /// Counts of words, kept where they change.
  class Differences {
   public:
    /// Adds `weight` to `words` words from `first` on.
    void add(std::uint64_t first, std::uint64_t words, std::uint64_t weight);
    /// Sorts them and combines those of one word.
    void combine();
    /// Calls visit(first, words, count) for runs of words with equal counts. Precondition: they are combined.
    template <typename Visit>
    void visit_runs(Visit visit) const;

   private:
    std::vector<Difference> all_;
    std::size_t combined_at_ = 1024;  ///< the size at which they are combined next
  };

  static Dimensions merge(Dimensions dimensions);
  static void add_row(Differences& to, std::uint64_t base, const Steps& row, std::uint64_t weight);
  void add_to_shapes(std::uint64_t base, const Steps& row, const Dimensions& shape, std::uint64_t weight);
  bool add_box(std::uint64_t first, const Dimensions& dimensions, std::uint64_t weight);
  void extend_hull(std::uint64_t first, const Dimensions& dimensions);
  bool make_room();
  void add_corners(std::uint64_t first, const Dimensions& dimensions, std::uint64_t weight);
  std::vector<std::uint64_t> sums();

  std::uint64_t address_;
  std::uint64_t bytes_;
  std::uint64_t words_;
  /// Rows of words, by the shape of their boxes; shapes of many dimensions come first.
  struct MoreDimensions {
    bool operator()(const Dimensions& left, const Dimensions& right) const {
      return left.size() != right.size() ? left.size() > right.size() : left < right;
    }
  };
  std::map<Dimensions, Differences, MoreDimensions> by_shape_;
  Differences rows_;                  ///< of all boxes that are divided into rows
  std::uint64_t number_of_rows_ = 0;  ///< so far
  /// The words that may differ from their predecessors: [first_, end_).
  std::uint64_t first_, end_ = 0;
  /// By strides, in words: differences of the `size_` words from `begin_` on, whose running sums are counts.
  std::map<Strides, std::vector<std::uint64_t>> by_strides_;
  std::uint64_t begin_ = 0, size_ = 0;
};

}  // namespace lynxpp::ptx
