// Allocates and frees pinned memory; both may wait for the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "device/cuda/driver.h"
#include "support/result.h"

namespace lynxpp::device::cuda {

struct MemoryBlock {
  std::uint64_t address = 0;
  std::size_t size = 0;
};

/// Calls the driver on a separate thread: the device may be waiting for an action of the program's thread,
/// which is in the middle of a launch. Thread safe.
class PinnedMemory {
 public:
  /// Callbacks, called from the separate thread, or from make() if it fails at once.
  struct Listener {
    std::function<void(std::size_t bytes)> freed;     ///< `bytes` were freed, or their allocation failed
    std::function<void(const MemoryBlock&)> is_late;  ///< receives memory that came too late
  };

  PinnedMemory(const Driver& driver, CUcontext context, Listener listener);
  /// Waits for the thread.
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  /// Allocates memory. Waits only briefly for the device, and not at all after an earlier timeout that is
  /// still pending. Fails if the driver fails or times out.
  Result<MemoryBlock> make(std::size_t bytes);

  void release(const std::vector<MemoryBlock>& blocks);

  /// Waits as long as make() for all released memory. False: some is not yet freed.
  bool finish();

 private:
  struct Request;
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace lynxpp::device::cuda
