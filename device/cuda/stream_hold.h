// Keeps a stream waiting while work is enqueued on it, so that the device finds all of it at once and no time
// between two events is the host's.
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>

#include "device/cuda/driver.h"

namespace lynxpp::device::cuda {

/// One for each context, thread safe. What it makes in the context stays there.
///
/// The stream waits in a kernel of one thread, which ends when the host says so or after some milliseconds at
/// the latest. A wait of the stream itself (cuStreamWaitValue32) would have no such end: a call that waits
/// for the device while the stream is held (local memory that has to grow, a module loaded late,
/// CUDA_LAUNCH_BLOCKING) would never come back.
class StreamHold {
 public:
  explicit StreamHold(const Driver& driver) : driver_(driver) {}

  /// A stream that waits until it is let go, at the latest when this is destroyed.
  class Hold {
   public:
    Hold() = default;
    Hold(Hold&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)), number_(other.number_) {}
    Hold& operator=(Hold&& other) noexcept {
      std::swap(owner_, other.owner_);
      std::swap(number_, other.number_);
      return *this;
    }
    ~Hold() { release(); }

    /// Streams that were held before are let go, too.
    void release() {
      if (StreamHold* const owner = std::exchange(owner_, nullptr)) owner->release(number_);
    }

   private:
    friend class StreamHold;
    Hold(StreamHold& owner, std::uint32_t number) : owner_(&owner), number_(number) {}

    StreamHold* owner_ = nullptr;
    std::uint32_t number_ = 0;
  };

  /// What is enqueued on `stream` from now on begins when the result is released. Without effect where the
  /// device cannot do so.
  Hold hold(CUstream stream);

 private:
  bool prepare();
  void release(std::uint32_t number);

  const Driver& driver_;
  std::mutex mutex_;  // guards what follows
  bool is_tried_ = false;
  CUfunction function_ = nullptr;
  volatile std::uint32_t* released_ = nullptr;  // pinned: the number of the last hold that was let go
  std::uint32_t number_ = 0;                    // of the last hold
};

}  // namespace lynxpp::device::cuda
