// The limit on memory that lynxpp allocates in addition to the program's: LYNXPP_MEMORY_BUDGET.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "support/result.h"

namespace lynxpp::device {

struct MemoryBudget {
  double share = 0.1;                                 ///< of the free memory
  std::optional<std::uint64_t> bytes = std::nullopt;  ///< replaces the share

  /// Parses "10%", "512M", "2G", "64K" or "1000000" (bytes); an empty text yields the default. Fails for
  /// other text.
  static Result<MemoryBudget> parse(const std::string& text);

  /// Returns the budget in bytes if `free` bytes are unused by others.
  std::uint64_t of(std::uint64_t free) const;
};

/// Returns the host memory available for allocations, or the maximum value if it is unknown.
std::uint64_t free_host_memory();

/// Tracks and limits allocations of one kind of memory. Thread safe.
class BoundedMemory {
 public:
  /// `free` returns the bytes available now. It is called seldom, so if available memory shrinks, usage may
  /// exceed the budget by up to a sixteenth of it.
  BoundedMemory(std::string what, std::function<std::uint64_t()> free)
      : what_(std::move(what)), free_(std::move(free)) {}

  void limit(const MemoryBudget& budget);
  /// Fails if `bytes` do not fit. The message does not contain the size, so that equal failures are reported
  /// once.
  Status reserve(std::uint64_t bytes);
  void release(std::uint64_t bytes);
  std::uint64_t reserved() const;

 private:
  const std::string what_;
  const std::function<std::uint64_t()> free_;
  mutable std::mutex mutex_;  // guards the members below
  MemoryBudget budget_;
  std::uint64_t reserved_ = 0;
  std::uint64_t known_to_fit_ = 0;
};

}  // namespace lynxpp::device
