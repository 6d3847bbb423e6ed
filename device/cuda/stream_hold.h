// Keeps a stream waiting while work is enqueued on it, so that the device finds all of it at once and no time
// between two events is the host's.
#pragma once

#include <cstdint>

#include "device/cuda/driver.h"

namespace lynxpp::device::cuda {

/// One for each context; not thread safe. What it makes in the context stays there.
///
/// The stream waits in a kernel of one thread, which ends when the host says so or after some milliseconds at
/// the latest. A wait of the stream itself (cuStreamWaitValue32) would have no such end: a call that waits
/// for the device while the stream is held (local memory that has to grow, a module loaded late,
/// CUDA_LAUNCH_BLOCKING) would never come back.
class StreamHold {
 public:
  explicit StreamHold(const Driver& driver) : driver_(driver) {}

  /// What is enqueued on `stream` from now on begins after release(). Without effect where the device cannot
  /// do so.
  void hold(CUstream stream);
  /// Lets every stream go that is held.
  void release();

 private:
  bool prepare();

  const Driver& driver_;
  bool is_tried_ = false;
  CUfunction function_ = nullptr;
  volatile std::uint32_t* released_ = nullptr;  // pinned: the number of the last hold that was let go
  std::uint32_t number_ = 0;                    // of the last hold
};

}  // namespace lynxpp::device::cuda
