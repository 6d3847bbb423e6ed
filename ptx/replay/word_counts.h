// Counts of accesses to each 4-byte word of a range of memory, computed from accesses of boxes of threads
// without iterating over single threads.
//
// A box accesses the words base + Σ stride × (0 … extent - 1). Its histogram is the product over the
// dimensions of (1 + z^stride + z^(2 stride) + …) = (1 - z^(stride extent)) / (1 - z^stride): adding a box
// changes a few values, and one running sum per stride over the whole range completes all boxes with the same
// strides.
//
//   WordCounts words(address, bytes);
//   words.add(access);                  // any number of times
//   words.finish();                     // one count for each word
#pragma once

#include <cstdint>
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
  /// Returns the counts and clears the object.
  std::vector<std::uint64_t> finish();

 private:
  struct Steps {
    std::uint64_t stride = 1;
    std::uint64_t extent = 1;
  };
  using Strides = std::vector<std::uint64_t>;

  static std::vector<Steps> merge(std::vector<Steps> dimensions);
  void add_box(std::uint64_t base, const std::vector<Steps>& dimensions, std::uint64_t weight,
               std::uint64_t unit);
  void add_each(std::uint64_t base, const std::vector<Steps>& dimensions, std::uint64_t weight,
                std::uint64_t unit);

  std::uint64_t address_;
  std::uint64_t bytes_;
  std::vector<std::uint64_t> whole_;  ///< counts added word by word
  /// By strides, in words and in bytes: differences whose running sums are counts.
  std::map<Strides, std::vector<std::uint64_t>> by_words_, by_bytes_;
};

}  // namespace lynxpp::ptx
