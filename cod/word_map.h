// From an address of device memory to the element of a DEVICE_WORDS array that counts its word, by two tables
// instead of a search: addresses are cut into regions of 4 GiB, of which those that hold an allocation have a
// table of their pages of 64 KiB, each with the number of the page of elements that stands for it.
//
//   entries, of 32 bits:  first region (2 entries), regions (2 entries), then the table of each region, none
//                         for most; tables of pages
//   element = page number × 16384 + word in the page
//
// Most accesses need no table: the *window* is a stretch of pages, gaps between allocations included, whose
// elements follow one another. A page of elements before and one behind it count nothing that is in a range,
// so that whoever has seen that an address lies in the window may count at small distances from it, too.
//
//   element = 16384 + (address - window's begin) / 4
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace lynxpp::cod {

class WordMap {
 public:
  static constexpr std::uint64_t region_bits = 32;
  static constexpr std::uint64_t page_bits = 16;
  static constexpr std::uint64_t header_entries = 4;
  static constexpr std::uint32_t none = 0xffffffff;
  /// Of the elements that stand before the window's, in bytes of counted memory; as many stand behind it.
  static constexpr std::uint64_t margin_bytes = std::uint64_t{1} << page_bits;

  /// Which word of the hidden parameter is meant: Word::index where its kind is Word::Kind::word_map.
  enum Part : std::uint32_t { part_entries, part_window_begin, part_window_bytes };
  static constexpr std::uint32_t parts = 3;

  /// A stretch of memory.
  struct Window {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;  ///< 0: there is none
  };

  /// Of ranges of addresses, begin and bytes, in any order. The elements of a range follow one another.
  explicit WordMap(std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges);

  /// How many elements a DEVICE_WORDS array has.
  std::uint64_t words() const { return pages_ << (page_bits - 2); }
  /// nullopt: in no page of a range.
  std::optional<std::uint64_t> element_of(std::uint64_t address) const;
  /// What the device reads.
  std::span<const std::uint32_t> entries() const { return entries_; }
  const Window& window() const { return window_; }
  /// The value of a word of the hidden parameter; the entries lie at `address`.
  std::uint64_t word(std::uint32_t part, std::uint64_t address) const;

 private:
  void number(std::uint64_t page);

  std::vector<std::uint32_t> entries_;
  std::uint64_t pages_ = 0;
  Window window_;
};

}  // namespace lynxpp::cod
