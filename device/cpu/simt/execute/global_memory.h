// What kernels may access by global and generic addresses, shared, local and parameter memory aside.
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

/// So many devices a process has at most, which differ in their memory only.
inline constexpr int most_devices = 16;

/// Thread safe.
class GlobalMemory {
 public:
  virtual ~GlobalMemory() = default;

  /// Whose memory it is, below `most_devices`.
  virtual int device() const { return 0; }

  /// The allocation or variable that holds the byte at `address`, to its exact size; empty when none does.
  virtual AddressRange around(std::uint64_t address) const = 0;

  /// For the user, what an access that no range holds has met: "8 bytes behind the end of …".
  virtual std::string describe(std::uint64_t address) const = 0;

  /// Whether what no range holds lies in memory that was freed lately.
  virtual bool is_freed(std::uint64_t) const { return false; }

  /// malloc and free of device code. Null when there is no memory; false when `pointer` is none of malloc's.
  virtual void* allocate_for_kernel(std::uint64_t bytes) = 0;
  virtual bool free_for_kernel(void* pointer) = 0;

  /// How many ranges have gone away. What around() said before the last one may be out of date.
  std::uint64_t removals() const { return removals_.load(std::memory_order_relaxed); }

 protected:
  void note_removal() { removals_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> removals_{0};
};

/// The whole process but its first page: for kernels that are run on memory that nobody keeps account of.
GlobalMemory& unchecked_memory();

}  // namespace lynxpp::device::cpu
