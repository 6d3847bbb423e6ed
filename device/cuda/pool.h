// Device memory, pinned memory and events are kept for later launches: making them costs more than a launch,
// and the driver's own pool gives memory back to the system at every synchronisation.
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

/// One for each context, thread safe. The context is to be current where something is asked for; giving back
/// may come from anywhere.
class Pool {
 public:
  Pool(const Driver& driver, CUcontext context);

  using Block = MemoryBlock;

  CUcontext context() const { return context_; }

  /// Of lynxpp's own: what is enqueued there never becomes part of a graph that the program captures. Null:
  /// the driver refuses one. The context is current.
  CUstream own_stream();

  /// For all that is taken, in use or kept.
  void limit(const MemoryBudget& budget);

  /// At least `size` bytes that nothing on the device uses any more.
  Result<Block> device_memory(std::size_t size, CUstream stream);
  /// Precondition: what was enqueued for the block is through.
  void give_back_device_memory(const Block& block);
  /// Gives the memory to the driver, behind what is on the stream. A block of none is fine.
  void free_device_memory(const Block& block, CUstream stream);

  /// Waits no longer than a tenth of a second.
  Result<Block> pinned_memory(std::size_t size);
  /// Precondition: the device writes it no more. A block of none is fine.
  void give_back_pinned_memory(const Block& block);

  /// An event that has just been recorded on the stream; null when the driver refuses. One that was not
  /// recorded would still say that an earlier launch is over.
  CUevent recorded_event(CUstream stream);
  /// Null is fine.
  void give_back(CUevent event);

 private:
  struct KeptBlock {
    Block block;
    std::chrono::steady_clock::time_point since;
  };
  struct Kept {
    std::vector<KeptBlock> blocks;  ///< the last one has come last
    std::size_t bytes = 0;
  };

  /// Nothing on the device uses it any more.
  void free_unused(const Block& block);
  /// Counts `size` bytes as taken, having given to the driver what is kept where there is no room else.
  Status take_room(BoundedMemory& room, Kept& kept, std::size_t size);
  void give_to_driver(Kept& kept, const std::vector<Block>& blocks);
  CUevent kept_event();
  std::optional<Block> take(Kept& kept, std::size_t size);
  /// What is to be given to the driver in its stead.
  std::vector<Block> keep(Kept& kept, const Block& block);

  const Driver& driver_;
  CUcontext context_;
  BoundedMemory device_room_;
  BoundedMemory pinned_room_;
  std::mutex mutex_;  // guards what follows; not held while the driver works
  Kept device_;
  Kept pinned_;
  std::vector<CUevent> events_;
  CUstream own_stream_ = nullptr;
  PinnedMemory pinned_memory_;  // last: its thread uses the rest
};

}  // namespace lynxpp::device::cuda
