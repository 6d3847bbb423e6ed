// Caches device memory, pinned memory and events: creating them costs more than a launch, and the driver's
// own pool returns memory to the system at every synchronization.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "device/cuda/driver.h"
#include "device/cuda/pinned_memory.h"
#include "device/memory_budget.h"
#include "support/result.h"

namespace lynxpp::device::cuda {

/// One per context. Thread safe. The context must be current for allocations; releases may come from any
/// thread.
class Pool {
 public:
  Pool(const Driver& driver, CUcontext context);

  using Block = MemoryBlock;

  CUcontext context() const { return context_; }

  /// Returns a stream owned by lynxpp, which the program's graph captures never include; null if the driver
  /// cannot create one. Precondition: the context is current.
  CUstream own_stream();

  /// Limits all memory taken, in use or cached.
  void limit(const MemoryBudget& budget);

  /// Returns at least `size` bytes that the device no longer uses.
  Result<Block> device_memory(std::size_t size, CUstream stream);
  /// Caches the block. Precondition: all work that uses it is over.
  void release_device_memory(const Block& block);
  /// Frees the memory after the stream's work. Ignores an empty block.
  void free_device_memory(const Block& block, CUstream stream);

  /// Waits at most a tenth of a second.
  Result<Block> pinned_memory(std::size_t size);
  /// Caches the block. Precondition: the device no longer writes it. Ignores an empty block.
  void release_pinned_memory(const Block& block);

  /// Returns an event that has just been recorded on the stream; null if that fails. A reused event that was
  /// not recorded would report that an earlier launch is over.
  CUevent recorded_event(CUstream stream);
  /// Ignores null.
  void release(CUevent event);

 private:
  struct KeptBlock {
    Block block;
    std::chrono::steady_clock::time_point since;
  };
  struct Kept {
    std::vector<KeptBlock> blocks;  ///< most recently returned last
    std::size_t bytes = 0;
  };

  /// Precondition: the device no longer uses the block.
  void free_unused(const Block& block);
  /// Reserves `size` bytes of the budget, after freeing cached blocks if required.
  Status reserve(BoundedMemory& room, Kept& kept, std::size_t size);
  void free_blocks(Kept& kept, const std::vector<Block>& blocks);
  CUevent kept_event();
  std::optional<Block> take(Kept& kept, std::size_t size);
  /// Caches the block and returns idle blocks that must be freed.
  std::vector<Block> keep(Kept& kept, const Block& block);

  const Driver& driver_;
  CUcontext context_;
  BoundedMemory device_room_;
  BoundedMemory pinned_room_;
  std::mutex mutex_;  // guards the members below; released during driver calls
  Kept device_;
  Kept pinned_;
  std::vector<CUevent> events_;
  CUstream own_stream_ = nullptr;
  PinnedMemory pinned_memory_;  // last: its thread uses the other members
};

}  // namespace lynxpp::device::cuda
