// The last accesses to each memory word, from which races are found.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "device/cpu/simt/check/async_operations.h"
#include "device/cpu/simt/check/happens_before.h"

namespace lynxpp::device::cpu {

/// One access by one lane, or by an asynchronous operation that the lane issued, to bytes of one word.
struct AccessMark {
  std::uint32_t time = 0;  ///< of its warp, or the number of the AsyncOperation; 0: no access
  std::uint32_t block = 0;
  std::uint32_t warp : 5 = 0;
  std::uint32_t lane : 5 = 0;
  std::uint32_t bytes : 4 = 0;  ///< mask of the bytes accessed
  std::uint32_t reach : 2 = 0;  ///< Reach of a strong access; none: the access is weak
  std::uint32_t site : 15 = 0;  ///< unknown_site if there are too many sites
  std::uint32_t is_async : 1 = 0;
  static constexpr std::uint32_t unknown_site = 0x7fff;
};

/// Marks of one word: the last write and up to two reads after it. Further mutually unordered reads are
/// dropped.
struct WordMarks {
  AccessMark write;
  AccessMark reads[2];
};

/// Marks of all accessed words. Starts again from empty if it exceeds its memory limit.
class AccessShadow {
 public:
  /// Returns the marks of the word with this number.
  WordMarks& word(std::uint64_t number) {
    const std::uint64_t page = number / page_words;
    if (page != last_page_ || last_ == nullptr) find(page);
    return (*last_)[number % page_words];
  }
  void clear() {
    pages_.clear();
    last_ = nullptr;
  }

 private:
  static constexpr std::uint64_t page_words = 1024;
  static constexpr std::size_t most_pages = 1 << 15;  // 128 MB of memory, 1.2 GB of marks
  using Page = std::array<WordMarks, page_words>;
  void find(std::uint64_t page) {
    if (pages_.size() >= most_pages && !pages_.contains(page)) pages_.clear();
    std::unique_ptr<Page>& found = pages_[page];
    if (found == nullptr) found = std::make_unique<Page>();
    last_ = found.get();
    last_page_ = page;
  }

  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  Page* last_ = nullptr;
  std::uint64_t last_page_ = 0;
};

/// An earlier access that conflicts with a new one and is not ordered before it.
struct Conflict {
  AccessMark earlier;  ///< time 0: no conflict
  bool earlier_writes = false;
  bool lacks_proxy_fence = false;  ///< ordered, but not before accesses of the async proxy
};

/// Clocks that order earlier accesses before a new one of a warp, or of an asynchronous operation that it
/// issues.
struct AccessOrder {
  const WarpClock& clock;  ///< of the warp
  const AsyncOperations& operations;
  std::span<const WarpClock> block;  ///< clocks of the warp's block
  bool by_async_proxy = false;       ///< the new access
};

/// Records an access and returns a conflict, if there is one. An atomic operation both reads and writes.
Conflict note_access(WordMarks& word, const AccessMark& mark, bool reads, bool writes,
                     const AccessOrder& order);

}  // namespace lynxpp::device::cpu
