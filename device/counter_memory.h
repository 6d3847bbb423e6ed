// 32-bit counters that stay in device memory: the host receives a summary of each page of them, from which it
// computes the statistics of any range, and copies only pages
// that a range's ends cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "support/counter_page.h"
#include "support/result.h"

namespace lynxpp::device {

/// Zeroed counters of one launch in device memory, a multiple of a page. Once launched(), destroy it only
/// when the launch is over.
class CounterMemory {
 public:
  CounterMemory(std::uint64_t address, std::uint64_t bytes) : address_(address), bytes_(bytes) {}
  virtual ~CounterMemory() = default;
  CounterMemory(const CounterMemory&) = delete;
  CounterMemory& operator=(const CounterMemory&) = delete;

  std::uint64_t address() const { return address_; }
  std::uint64_t bytes() const { return bytes_; }
  /// Summarises the counters after the launch that uses them, which has just been made, on its stream.
  virtual void launched() = 0;
  /// Returns the summaries of all pages. Precondition of this and the next: the launch is over, and work that
  /// was enqueued on its stream by launched().
  virtual Result<std::vector<CounterPage>> pages() = 0;
  /// Copies counters from `offset`, in bytes.
  virtual Status read(std::uint64_t offset, std::span<std::byte> to) = 0;

 private:
  std::uint64_t address_, bytes_;
};

}  // namespace lynxpp::device
