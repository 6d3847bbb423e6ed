// The program's memory on the cpu device. Device memory is host memory, so host and kernels use the same
// pointers. The map serves cudaFree, cudaMemcpyDefault and pointer attributes, and detects wrong pointers and
// sizes in the program's calls and in every access of its kernels.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "device/allocations.h"
#include "device/cpu/runtime/devices.h"
#include "device/cpu/runtime/memory/allocation.h"
#include "device/cpu/simt/execute/memory/global_memory.h"
#include "support/call_stack.h"
#include "support/no_cancellation.h"

namespace lynxpp::device::cpu {

class Allocations;

/// Memory that kernels of one device may access: its own, memory shared by host and devices, and memory of
/// peers to which it has access.
class DeviceMemory final : public GlobalMemory {
 public:
  DeviceMemory(Allocations& all, int device) : all_(all), device_(device) {}

  int device() const override { return device_; }
  AddressRange around(std::uint64_t address) const override;
  std::string describe(std::uint64_t address) const override;
  bool is_freed(std::uint64_t address) const override;
  HostAccess host_access_at(std::uint64_t address) const override;
  void* allocate_for_kernel(std::uint64_t bytes) override;
  bool free_for_kernel(void* pointer) override;

 private:
  friend class Allocations;
  Allocations& all_;
  const int device_;
};

/// Thread safe.
class Allocations {
 public:
  Allocations();

  DeviceMemory& of_device(int device) { return *memories_[static_cast<std::size_t>(device)]; }

  /// Allocates on the current device: memory aligned to 512 bytes and zeroed like fresh GPU memory; *pointer
  /// is null if `bytes` is 0. Checked launches treat it as uninitialized. Errors: cudaErrorMemoryAllocation.
  cudaError_t allocate(void** pointer, std::size_t bytes, MemoryKind kind, unsigned flags = 0,
                       void* pool = nullptr);

  /// Frees memory that allocate() returned as one of the two kinds. Its addresses are not reused for a while,
  /// so that later accesses by kernels are detected. Errors: cudaErrorInvalidValue for any other pointer.
  cudaError_t release(void* pointer, MemoryKind kind, MemoryKind other_kind);

  /// Same as release(), but release_retired() releases the memory; until then, only copies and kernels that
  /// were launched earlier may use it. `number` identifies the allocation, because a graph may allocate at
  /// the same address earlier.
  cudaError_t retire(void* pointer, MemoryKind kind, MemoryKind other_kind, std::uint64_t& number);
  void release_retired(void* pointer, std::uint64_t number);

  /// Allocates `storage` on the device, as each launch of a graph does with its memory. Errors:
  /// cudaErrorMemoryAllocation.
  cudaError_t allocate(std::shared_ptr<void> storage, std::size_t bytes, int device, void* pool);
  /// True if memory that starts at the address is allocated and no call has freed it.
  bool is_allocated(const void* address) const;

  /// Enters memory that is owned elsewhere (registered_host, variable, probe, mapped). Returns false if it
  /// overlaps an entry.
  bool add_foreign(const Allocation& allocation);
  /// Removes an entry of add_foreign(). Returns false if the address has no entry of that kind.
  bool remove_foreign(const void* address, MemoryKind kind);

  /// Returns the entry that `pointer` points into.
  std::optional<Allocation> find(const void* pointer) const;

  /// Frees everything that allocate() returned for a device, and forgets host memory registered there;
  /// variables and probe buffers remain.
  void release_all(int device);

  /// True if kernels of `device` may access the memory.
  bool is_accessible(const Allocation& allocation, int device) const;
  /// Sets the bit mask of devices that may access a pool's memory in addition to the pool's own device.
  void set_pool_access(const void* pool, std::uint32_t devices);
  std::uint32_t pool_access(const void* pool) const;
  /// Sets access to the mapped memory that starts at the address.
  void set_access(std::uint64_t address, int device, bool may);
  /// Call this when a device has lost access to memory.
  void note_lost_access() { note_removal(); }

  /// Returns the allocations that the launch session sees: all but variables. The object is shared until an
  /// allocation changes.
  std::shared_ptr<const LiveAllocations> live();

  /// Returns the arrays, which live() omits because kernels cannot use their addresses.
  std::vector<Allocation> live_arrays() const;

  std::size_t used_bytes(int device) const;  ///< device and managed memory, arrays, and bytes of reserve()
  /// Accounts for device memory that has no entry here. Returns false if the device has too little left.
  bool reserve(int device, std::size_t bytes);
  void release(int device, std::size_t bytes);
  /// Bytes allocated from a pool, now and at most (since reset_pool_high()).
  struct PoolUse {
    std::size_t current = 0;
    std::size_t high = 0;
    std::uint32_t access = 0;  ///< set_pool_access()
  };
  PoolUse pool_use(const void* pool) const;
  void reset_pool_high(const void* pool);
  static std::size_t total_bytes();  ///< per device: an equal share of the host's memory

 private:
  friend class DeviceMemory;
  using Entry = std::map<std::uintptr_t, Allocation>::iterator;
  /// Freed memory that is withheld from reuse.
  struct Freed {
    Allocation allocation;
    CallStack stack;  ///< of the call that freed it
  };

  void note_removal();
  bool is_open_to(const Allocation& allocation, int device) const;
  const Allocation* entry_of(std::uint64_t address) const;
  std::string describe(std::uint64_t address, int device) const;
  void free_storage(const Allocation& allocation, const CallStack& stack);
  void drain_freed(std::size_t most_entries, std::size_t most_bytes);
  Entry find_own(void* pointer, MemoryKind kind, MemoryKind other_kind);
  void remove(Entry entry, const CallStack& stack);
  void enter(Allocation allocation);
  bool has_room(int device, std::size_t bytes) const;
  void enter_own(Allocation allocation);
  void forget_stale(std::uintptr_t address, std::size_t bytes);
  const Allocation* nearest(std::uint64_t address) const;

  mutable std::shared_mutex mutex_;
  std::map<std::uintptr_t, Allocation> by_address_;
  std::deque<Freed> freed_;
  std::size_t freed_bytes_ = 0;
  std::array<std::size_t, most_devices> used_{};
  std::map<const void*, PoolUse> pools_;
  std::uint64_t next_ = 0;
  std::uint64_t version_ = 0;
  std::shared_ptr<const LiveAllocations> live_;  // of its version; may be outdated
  std::vector<std::unique_ptr<DeviceMemory>> memories_;
};

/// Attributes this thread's allocations to the program's call that returns to `caller`, for as long as the
/// object lives.
class ProgramCall {
 public:
  explicit ProgramCall(const void* caller);
  ~ProgramCall();
  ProgramCall(const ProgramCall&) = delete;
  ProgramCall& operator=(const ProgramCall&) = delete;

 private:
  const NoCancellation uncancelled_;
  const void* const outer_;
};

/// Returns zeroed memory aligned to 512 bytes; null if none is available.
std::shared_ptr<void> zeroed_memory(std::size_t bytes);

/// Returns the process's map. Never destroyed, because programs free memory in static destructors.
Allocations& allocations();

}  // namespace lynxpp::device::cpu
