// How much memory lynxpp takes beside the program's: LYNXPP_MEMORY_BUDGET.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "support/result.h"

namespace lynxpp::device {

struct MemoryBudget {
  double share = 0.1;                                 ///< of what is free
  std::optional<std::uint64_t> bytes = std::nullopt;  ///< in place of a share

  /// "10%", "512M", "2G", "64K", "1000000" (bytes); empty: the default. Failure: it is none of these.
  static Result<MemoryBudget> parse(const std::string& text);

  /// Of memory of which `free` bytes are not taken by anybody else.
  std::uint64_t of(std::uint64_t free) const;
};

/// What the host has for new allocations; the largest number when it does not say.
std::uint64_t free_host_memory();

/// Counts what is taken of one kind of memory. Thread safe.
class BoundedMemory {
 public:
  /// `free` says how much of it is left now. It is asked seldom: where it has shrunk since, up to a sixteenth
  /// of the budget may be too much.
  BoundedMemory(std::string what, std::function<std::uint64_t()> free)
      : what_(std::move(what)), free_(std::move(free)) {}

  void limit(const MemoryBudget& budget);
  /// Failure: so much does not fit. The text does not depend on how much, so that many say the same.
  Status take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes);
  std::uint64_t taken() const;

 private:
  const std::string what_;
  const std::function<std::uint64_t()> free_;
  mutable std::mutex mutex_;  // guards what follows
  MemoryBudget budget_;
  std::uint64_t taken_ = 0;
  std::uint64_t known_to_fit_ = 0;
};

}  // namespace lynxpp::device
