// Maps an address of device memory to the element of a DEVICE_WORDS array that counts its word, by two table
// look-ups instead of a search. Addresses are divided into regions of 4 GiB. Each region that contains an
// allocation has a table of its 64 KiB pages, with the number of the page of elements for each.
//
//   entries (32 bits):    first region (2 entries), regions (2 entries), then the table of each region, 0 for
//                         most; tables of pages
//   element = page number × 16384 + word in the page
//
// Most accesses need no table: the *window* is a range of pages, including gaps between allocations, whose
// elements are consecutive. The pages of elements before and after it do not count words of any range, so
// that once an address is known to be in the window, accesses at small distances from it can be counted as
// well.
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
  /// Bytes of counted memory that the elements before the window's represent; the same number follows it.
  static constexpr std::uint64_t margin_bytes = std::uint64_t{1} << page_bits;

  /// Selects a parameter slot: Word::index if its kind is Word::Kind::word_map.
  enum Part : std::uint32_t { part_entries, part_window_begin, part_window_bytes };
  static constexpr std::uint32_t parts = 3;

  /// A contiguous range of memory.
  struct Window {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;  ///< 0: no window
  };

  /// Takes ranges (begin, bytes) in any order. The elements of a range are consecutive.
  explicit WordMap(std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges);

  /// Number of elements of a DEVICE_WORDS array.
  std::uint64_t words() const { return pages_ << (page_bits - 2); }
  /// nullopt if no page of a range contains the address.
  std::optional<std::uint64_t> element_of(std::uint64_t address) const;
  /// The table that the device reads.
  std::span<const std::uint32_t> entries() const { return entries_; }
  const Window& window() const { return window_; }
  /// The value of a parameter slot; the entries are at `address`.
  std::uint64_t word(std::uint32_t part, std::uint64_t address) const;

 private:
  void number(std::uint64_t page);

  std::vector<std::uint32_t> entries_;
  std::uint64_t pages_ = 0;
  Window window_;
};

}  // namespace lynxpp::cod
