// Getting pinned memory from the driver and giving it back, both of which may wait for the device.
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

/// Does so in a thread of its own: the device may have to wait for what the program's thread, which is in the
/// midst of a launch, does next. Thread safe.
class PinnedMemory {
 public:
  /// Called from that thread.
  struct Listener {
    std::function<void(std::size_t bytes)> freed;     ///< the driver has so much more, or has refused it
    std::function<void(const MemoryBlock&)> is_late;  ///< one that nobody waits for any more
  };

  PinnedMemory(const Driver& driver, CUcontext context, Listener listener);
  /// Waits for the thread.
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  /// Waits no longer than the device takes when it waits for nobody, and not at all where that was in vain
  /// and has not ended. Failure: the driver refuses, or the memory is late.
  Result<MemoryBlock> make(std::size_t bytes);

  void release(const std::vector<MemoryBlock>& blocks);

  /// Waits for all that was released, as long as make() waits. False: some is not free yet.
  bool finish();

 private:
  struct Request;
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace lynxpp::device::cuda
