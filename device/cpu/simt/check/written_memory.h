// Tracks which bytes of device memory have been written, to find reads of uninitialized memory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace lynxpp::device::cpu {

/// Untracked memory counts as written: variables, and memory that the host writes without a call. Thread
/// safe.
class WrittenMemory {
 public:
  /// Starts tracking an allocation, whose contents are undefined.
  void enter(std::uint64_t address, std::uint64_t bytes);
  void leave(std::uint64_t address);

  void write(std::uint64_t address, std::uint64_t bytes);
  /// Makes bytes uninitialized again.
  void forget(std::uint64_t address, std::uint64_t bytes);
  /// Copied bytes are written if their source is. The ranges may overlap.
  void copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes);
  /// True if all bytes of the range have been written.
  bool is_written(std::uint64_t address, std::uint64_t bytes) const;
  /// True if no byte of the range has been written.
  bool is_unwritten(std::uint64_t address, std::uint64_t bytes) const;

 private:
  struct Range {
    std::uint64_t bytes = 0;
    std::unique_ptr<std::uint64_t[]> written;  ///< one bit per byte
  };
  using Ranges = std::map<std::uint64_t, Range>;
  Ranges::const_iterator find(std::uint64_t address) const;
  void mark(std::uint64_t address, std::uint64_t bytes, bool written);
  bool all_written(std::uint64_t address, std::uint64_t bytes) const;

  mutable std::mutex mutex_;
  Ranges ranges_;
};

/// Returns the process's tracker; null if keep_written_memory() has not been called.
WrittenMemory* written_memory();
/// Starts tracking written memory. Thread safe.
void keep_written_memory();

}  // namespace lynxpp::device::cpu
