// Counts of words whose counters stay in device memory: statistics follow from summaries of their pages, and
// only pages that the end of an array or of a heat map's cell cuts, or to which replay adds, are copied.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "cod/word_statistics.h"
#include "device/counter_memory.h"
#include "interposer/owned_mutex.h"

namespace lynxpp::interposer {

/// Thread safe.
class KeptWords final : public cod::WordSource {
 public:
  /// `pages` summarise the counters at `offset`, in bytes, of the memory; `replayed` are counts to be added
  /// to them. Both, and the memory, outlive this.
  KeptWords(device::CounterMemory& memory, std::uint64_t offset, std::span<const CounterPage> pages,
            std::shared_ptr<const cod::WordRuns> replayed)
      : memory_(memory), offset_(offset), pages_(pages), replayed_(std::move(replayed)) {}

  bool has_counts(std::uint64_t first, std::uint64_t words) const override;
  cod::WordStatistics statistics(const cod::MemoryArray& array) const override;
  void fill(std::span<std::byte> elements, std::uint64_t bytes_each) const override;
  void release() const override { replayed_->release(); }
  std::string problem() const override;

  /// Returns the sum of the counters of [first, first + words), without replayed counts.
  std::uint64_t counted(std::uint64_t first, std::uint64_t words) const;

 private:
  /// Calls whole(first, page) for each page of [first, first + words) that is_whole() accepts, and
  /// parts(first, counters) for the other counters, in order.
  template <typename IsWhole, typename Whole, typename Parts>
  void visit(std::uint64_t first, std::uint64_t words, IsWhole is_whole, Whole whole, Parts parts) const;
  std::vector<std::uint32_t> read(std::uint64_t first, std::uint64_t words) const;

  device::CounterMemory& memory_;
  const std::uint64_t offset_;
  const std::span<const CounterPage> pages_;
  const std::shared_ptr<const cod::WordRuns> replayed_;
  mutable OwnedMutex<std::mutex> mutex_{LockRank::leaf};
  mutable std::string problem_ LYNXPP_GUARDED_BY(mutex_);
};

}  // namespace lynxpp::interposer
