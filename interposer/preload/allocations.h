// Memory that the program obtained from the real driver and that kernels can access. Tracked from the start
// of the process, because a specification may be attached at any time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "interposer/engine_api.h"
#include "interposer/owned_mutex.h"
#include "interposer/preload/driver_types.h"

namespace lynxpp::preload {

/// Memory for the nodes of one container, obtained from the system: the program's own malloc may be what
/// calls the hooks, with its locks held. All blocks have one size and are never returned to the system. Not
/// thread safe.
class Slab {
 public:
  /// Throws std::bad_alloc.
  void* take(std::size_t bytes);
  void give_back(void* block);

 private:
  struct Free {
    Free* next;
  };
  Free* free_ = nullptr;
  std::byte* begin_ = nullptr;  // the unused part of the newest chunk
  std::byte* end_ = nullptr;
};

/// A standard allocator whose blocks come from `slab`.
template <typename Value>
struct SlabAllocator {
  using value_type = Value;
  Slab* slab;

  explicit SlabAllocator(Slab* from) : slab(from) {}
  template <typename Other>
  SlabAllocator(const SlabAllocator<Other>& other)
      : slab(other.slab) {}  // NOLINT(google-explicit-constructor)

  Value* allocate(std::size_t count) {
    if (count != 1) throw std::bad_alloc();
    return static_cast<Value*>(slab->take(sizeof(Value)));
  }
  void deallocate(Value* block, std::size_t) { slab->give_back(block); }
  bool operator==(const SlabAllocator& other) const { return slab == other.slab; }
};

/// Same order as device::AllocationKind; tests/interposer/allocations_test.cpp compares them.
enum class MemoryKind : std::uint32_t { device, pool, mapped, managed, host, registered_host };

/// Thread safe. Never fails: without memory for its own entries it forgets allocations.
class Allocations {
 public:
  struct Entry {
    lynxpp_allocation allocation = {};
    CUcontext context = nullptr;  ///< the context that was current at the allocation
  };

  /// Adds an allocation that the driver just returned, replacing any entry at its address. `caller` is the
  /// return address of the program's call.
  void add(std::uint64_t address, std::uint64_t bytes, MemoryKind kind, const void* caller) noexcept;

  /// Removes the allocation that begins at `address`. Call it before the driver frees the memory, because
  /// another thread may get the address right after.
  std::optional<Entry> remove(std::uint64_t address) noexcept;
  /// Undoes remove() when the driver refused to free.
  void restore(const Entry& entry) noexcept;

  /// Removes the mappings in a range; `next` is a number_to_come() from before they were unmapped.
  void forget_mappings(std::uint64_t address, std::uint64_t bytes, std::uint64_t next) noexcept;
  /// Removes what ended with a context: no mappings, and memory of pools only with a primary context.
  void forget_context(CUcontext context, bool is_primary, std::uint64_t next) noexcept;

  bool empty() const noexcept;
  std::uint64_t number_to_come() const noexcept;

  std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }
  /// lynxpp_allocation_source::copy
  std::size_t copy(lynxpp_allocation* into, std::size_t capacity, std::uint64_t* version) const noexcept;

 private:
  using Value = std::pair<const std::uint64_t, Entry>;
  using Map = std::map<std::uint64_t, Entry, std::less<>, SlabAllocator<Value>>;

  void insert(const Entry& entry);
  void changed() { version_.fetch_add(1, std::memory_order_release); }
  template <typename Gone>
  void erase_if(Gone gone) noexcept;

  mutable OwnedMutex<std::mutex> mutex_{LockRank::leaf};
  Slab slab_;
  Map by_address_{SlabAllocator<Value>(&slab_)};
  std::uint64_t next_ = 0;
  std::atomic<std::uint64_t> version_ = 0;
};

/// Returns the allocations of this process. Never destroyed.
Allocations& allocations();

/// The engine's access to allocations(), as plain functions.
extern const lynxpp_allocation_source allocation_source;

/// Returns the primary context of a device, for comparison before and after a call that may end it. Null if
/// it is inactive or no allocation is known.
CUcontext active_primary_context(CUdevice device);

}  // namespace lynxpp::preload
