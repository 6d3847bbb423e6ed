// From an address of device memory to the element of a DEVICE_WORDS array that counts its word, by two tables
// instead of a search: addresses are cut into regions of 4 GiB, of which those that hold an allocation have a
// table of their pages of 64 KiB, each with the number of the page of elements that stands for it.
//
//   entries, of 32 bits:  first region (2 entries), regions (2 entries), then the table of each region, none
//                         for most; tables of pages
//   element = page number × 16384 + word in the page
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

  /// Of ranges of addresses, begin and bytes, in any order. The elements of a range follow one another.
  explicit WordMap(std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges);

  /// How many elements a DEVICE_WORDS array has.
  std::uint64_t words() const { return pages_ << (page_bits - 2); }
  /// nullopt: in no page of a range.
  std::optional<std::uint64_t> element_of(std::uint64_t address) const;
  /// What the device reads.
  std::span<const std::uint32_t> entries() const { return entries_; }

 private:
  std::vector<std::uint32_t> entries_;
  std::uint64_t pages_ = 0;
};

}  // namespace lynxpp::cod
