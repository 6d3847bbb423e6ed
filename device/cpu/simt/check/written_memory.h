// Which bytes of device memory somebody has written: for reads of uninitialised memory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace lynxpp::device::cpu {

/// Memory that was never entered counts as written: variables, and what the host writes without a call.
/// Thread safe.
class WrittenMemory {
 public:
  /// Memory with unknown contents, from its allocation to its end.
  void enter(std::uint64_t address, std::uint64_t bytes);
  void leave(std::uint64_t address);

  void write(std::uint64_t address, std::uint64_t bytes);
  /// What was copied is as written as its source. The ranges may overlap.
  void copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes);
  /// Whether no byte of it was written.
  bool is_unwritten(std::uint64_t address, std::uint64_t bytes) const;

 private:
  struct Range {
    std::uint64_t bytes = 0;
    std::unique_ptr<std::uint64_t[]> written;  ///< one bit for each byte
  };
  using Ranges = std::map<std::uint64_t, Range>;
  Ranges::const_iterator find(std::uint64_t address) const;
  void mark(std::uint64_t address, std::uint64_t bytes, bool written);
  bool all_written(std::uint64_t address, std::uint64_t bytes) const;

  mutable std::mutex mutex_;
  Ranges ranges_;
};

/// The process's; null unless written memory is kept account of.
WrittenMemory* written_memory();
/// From now on it is. Thread safe.
void keep_written_memory();

}  // namespace lynxpp::device::cpu
