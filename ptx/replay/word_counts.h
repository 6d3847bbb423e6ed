// How often each 4-byte word of a range of memory was accessed, added up from accesses of whole boxes of
// threads without looking at single threads.
//
// The words that a box accesses are base + Σ stride × (0 … extent - 1). Its histogram is the product over the
// dimensions of (1 + z^stride + z^(2 stride) + …), that is of (1 - z^(stride extent)) / (1 - z^stride): few
// numbers are added for a box, and one running sum for each stride over the whole range finishes all boxes
// that have the same strides.
//
//   WordCounts words(address, bytes);
//   words.add(access);                  // as often as there are any
//   words.finish();                     // one count for each word
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "ptx/replay/replay.h"

namespace lynxpp::ptx {

class WordCounts {
 public:
  /// Of [address, address + bytes); the first word begins at `address`, which is a multiple of 4.
  WordCounts(std::uint64_t address, std::uint64_t bytes);

  /// Whether all of the access lies in the range.
  bool holds(const ReplayedAccess& access) const;
  /// Each thread adds one to every word that it touches. Precondition: holds(access), and addresses are
  /// multiples of the access's size up to 4, as PTX demands.
  void add(const ReplayedAccess& access);
  /// Leaves the object without counts.
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
  std::vector<std::uint64_t> whole_;  ///< what was added word by word
  /// By strides, in words and in bytes: differences whose running sums are counts.
  std::map<Strides, std::vector<std::uint64_t>> by_words_, by_bytes_;
};

}  // namespace lynxpp::ptx
