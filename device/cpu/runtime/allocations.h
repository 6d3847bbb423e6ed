// What memory the program has from the cpu device. Device memory is host memory, so a pointer works on both
// sides; the map exists for cudaFree, for cudaMemcpyDefault, for pointer attributes, and to find wrong
// pointers and sizes: in calls of the program, and in every access of its kernels.
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
#include "device/cpu/simt/execute/global_memory.h"
#include "support/call_stack.h"

namespace lynxpp::device::cpu {

enum class MemoryKind {
  device,           ///< cudaMalloc and its relatives
  managed,          ///< cudaMallocManaged, __managed__ variables
  pinned_host,      ///< cudaMallocHost, cudaHostAlloc
  registered_host,  ///< cudaHostRegister: the program's own memory
  variable,         ///< __device__ and __constant__ variables: storage of a loaded module
  kernel_heap,      ///< malloc of device code
  array,            ///< of a CUDA array, which the program reaches by textures, surfaces and copies
  probe,            ///< lynxpp's own, for what instrumented kernels find out
  mapped,           ///< where cuMemMap has put memory; owned elsewhere
};

struct Allocation {
  std::uintptr_t address = 0;
  std::size_t bytes = 0;
  MemoryKind kind = MemoryKind::device;
  unsigned flags = 0;    ///< as given to cudaHostAlloc or cudaHostRegister
  void* pool = nullptr;  ///< the cudaMemPool_t it came from
  bool is_managed_variable = false;
  std::uint64_t number = 0;    ///< given out by Allocations, in order
  CallStack stack = {};        ///< of the program's call; empty for variables
  std::string_view name = {};  ///< of a variable; borrowed from its module
  /// Of the call that frees it when its stream comes to it; nullopt: there is none yet.
  std::optional<CallStack> retired_by = {};
  int device = 0;                      ///< whose memory it is; of host memory, where it was asked for
  std::uint32_t access = 0;            ///< mapped memory: devices that may access it, a bit for each
  std::shared_ptr<void> storage = {};  ///< allocated by Allocations or lent by a graph; null: owned elsewhere

  void* pointer() const { return reinterpret_cast<void*>(address); }
  /// The host does not read or write it directly (though on this device it could).
  bool is_device_only() const {
    return kind == MemoryKind::device || kind == MemoryKind::variable || kind == MemoryKind::array ||
           kind == MemoryKind::mapped;
  }
};

class Allocations;
struct GraphMemory;

/// What kernels of one device may access: its own memory, what host and devices share, and the memory of
/// peers that it has access to.
class DeviceMemory final : public GlobalMemory {
 public:
  DeviceMemory(Allocations& all, int device) : all_(all), device_(device) {}

  int device() const override { return device_; }
  AddressRange around(std::uint64_t address) const override;
  std::string describe(std::uint64_t address) const override;
  bool is_freed(std::uint64_t address) const override;
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

  /// Allocates on the current device: memory aligned to 512 bytes, zeroed like a GPU's fresh memory; *pointer
  /// is null if `bytes` is 0. Checked launches treat it as uninitialised. Errors:
  /// cudaErrorMemoryAllocation.
  cudaError_t allocate(void** pointer, std::size_t bytes, MemoryKind kind, unsigned flags = 0,
                       void* pool = nullptr);

  /// Frees what allocate() gave out as one of the two kinds; its addresses are not given out again for a
  /// while, so that a kernel that still uses them is found out. Errors: cudaErrorInvalidValue for any other
  /// pointer.
  cudaError_t release(void* pointer, MemoryKind kind, MemoryKind other_kind);

  /// Same as release(), but release_retired() releases the memory; until then only copies and kernels that
  /// were launched earlier may use it.
  /// `number` identifies the allocation, since a graph may allocate at the same address earlier.
  cudaError_t retire(void* pointer, MemoryKind kind, MemoryKind other_kind, std::uint64_t& number);
  void release_retired(void* pointer, std::uint64_t number);

  /// Allocates the memory of a graph node, as each launch of the graph does. Errors:
  /// cudaErrorMemoryAllocation.
  cudaError_t allocate(const GraphMemory& memory);
  /// True if the memory is allocated and no call has freed it.
  bool is_allocated(const GraphMemory& memory) const;

  /// Enters memory that is owned elsewhere (registered_host, variable, probe, mapped). False when it overlaps
  /// an entry.
  bool add_foreign(const Allocation& allocation);
  /// Removes an entry of add_foreign; false when there is none of that kind at the address.
  bool remove_foreign(const void* address, MemoryKind kind);

  /// The entry `pointer` points into.
  std::optional<Allocation> find(const void* pointer) const;

  /// Frees everything that allocate() gave out for a device and forgets host memory that was registered
  /// there; variables and probes stay.
  void release_all(int device);

  /// Whether kernels of `device` may access it.
  bool is_accessible(const Allocation& allocation, int device) const;
  /// Devices, a bit for each, that may access memory of a pool besides its own device.
  void set_pool_access(const void* pool, std::uint32_t devices);
  std::uint32_t pool_access(const void* pool) const;
  /// Of the mapped memory that begins at the address.
  void set_access(std::uint64_t address, int device, bool may);
  /// To be called when a device has lost access to memory.
  void note_lost_access() { note_removal(); }

  /// What the launch session is told: all but variables. One object until something changes.
  std::shared_ptr<const LiveAllocations> live();

  /// What live() leaves out: they have no address that kernels could use.
  std::vector<Allocation> live_arrays() const;

  std::size_t used_bytes(int device) const;  ///< device and managed memory, arrays, and what was taken
  /// Memory of a device that has no address here. False when there is not so much left.
  bool take(int device, std::size_t bytes);
  void give_back(int device, std::size_t bytes);
  /// Bytes that came from a pool, now and at most; the latter since reset_pool_high().
  struct PoolUse {
    std::size_t current = 0;
    std::size_t high = 0;
    std::uint32_t access = 0;  ///< set_pool_access()
  };
  PoolUse pool_use(const void* pool) const;
  void reset_pool_high(const void* pool);
  static std::size_t total_bytes();  ///< of each device: an equal share of the host's memory

 private:
  friend class DeviceMemory;
  using Entry = std::map<std::uintptr_t, Allocation>::iterator;
  /// Memory that was freed and is kept from being used again.
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
  std::shared_ptr<const LiveAllocations> live_;  // of its version; may be out of date
  std::vector<std::unique_ptr<DeviceMemory>> memories_;
};

/// While one lives, what this thread allocates is known as the doing of the program's call that returns to
/// `caller`.
class ProgramCall {
 public:
  explicit ProgramCall(const void* caller);
  ~ProgramCall();
  ProgramCall(const ProgramCall&) = delete;
  ProgramCall& operator=(const ProgramCall&) = delete;

 private:
  const void* const outer_;
};

/// Returns memory aligned to 512 bytes, all 0; null if there is none.
std::shared_ptr<void> zeroed_memory(std::size_t bytes);

/// The process's map. Never destroyed: programs free memory in static destructors.
Allocations& allocations();

}  // namespace lynxpp::device::cpu
