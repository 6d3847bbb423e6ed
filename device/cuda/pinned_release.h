// Giving pinned memory to the driver, which waits for the device in that call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "device/cuda/driver.h"

namespace lynxpp::device::cuda {

struct MemoryBlock {
  std::uint64_t address = 0;
  std::size_t size = 0;
};

/// Does so in a thread of its own: the device may have to wait for what the program's thread, which is in the
/// midst of a launch, does next. Thread safe.
class PinnedRelease {
 public:
  /// `freed` is told of each block's size when the driver has it, from that thread.
  PinnedRelease(const Driver& driver, CUcontext context, std::function<void(std::size_t bytes)> freed);
  /// Waits for the thread.
  ~PinnedRelease();
  PinnedRelease(const PinnedRelease&) = delete;
  PinnedRelease& operator=(const PinnedRelease&) = delete;

  void release(const std::vector<MemoryBlock>& blocks);

  /// Waits for all that was released, but no longer than the device takes when it waits for nobody, and not
  /// again where that was in vain. False: some is not free yet.
  bool finish();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace lynxpp::device::cuda
