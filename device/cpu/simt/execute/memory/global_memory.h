// The memory that kernels may access by global and generic addresses, except shared, local and parameter
// memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace lynxpp::device::cpu {

struct AddressRange {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;

  bool holds(std::uint64_t address, std::uint64_t size) const {
    return address - begin < bytes && size <= bytes - (address - begin);
  }
};

/// Most devices of a process, which differ in their memory only.
inline constexpr int most_devices = 16;

/// Memory that the host may access while a kernel runs.
enum class HostAccess : std::uint8_t { none, managed, pinned };

/// Thread safe.
class GlobalMemory {
 public:
  virtual ~GlobalMemory() = default;

  /// Returns the device that owns the memory, less than `most_devices`.
  virtual int device() const { return 0; }

  /// Returns the exact range of the allocation or variable that holds the byte at `address`; empty if none
  /// does.
  virtual AddressRange around(std::uint64_t address) const = 0;

  /// Describes an address outside all ranges for the user: "8 bytes past the end of …".
  virtual std::string describe(std::uint64_t address) const = 0;

  /// True if an address outside all ranges is in recently freed memory.
  virtual bool is_freed(std::uint64_t) const { return false; }

  /// Returns how the host may access the byte at `address` while a kernel runs.
  virtual HostAccess host_access_at(std::uint64_t) const { return HostAccess::none; }

  /// malloc and free of device code. Returns null if there is no memory, false if `pointer` is not from
  /// malloc.
  virtual void* allocate_for_kernel(std::uint64_t bytes) = 0;
  virtual bool free_for_kernel(void* pointer) = 0;

  /// Number of ranges removed so far. Earlier results of around() may be stale once it changes.
  std::uint64_t removals() const { return removals_.load(std::memory_order_relaxed); }

 protected:
  void note_removal() { removals_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> removals_{0};
};

/// Returns memory that allows the whole address space except its first page, for kernels on untracked memory.
GlobalMemory& unchecked_memory();

}  // namespace lynxpp::device::cpu
