// Blocks a stream while work is enqueued on it, so that the device finds all of it at once and no host time
// falls between two events.
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>

#include "device/cuda/driver.h"

namespace lynxpp::device::cuda {

/// One per context. Thread safe. Its module and memory stay in the context.
///
/// The stream waits in a single-thread kernel that ends when the host releases it, or after some
/// milliseconds. A wait operation of the stream (cuStreamWaitValue32) has no such timeout: a call that waits
/// for the device while the stream is held (growing local memory, late module loading, CUDA_LAUNCH_BLOCKING)
/// would never return.
class StreamHold {
 public:
  explicit StreamHold(const Driver& driver) : driver_(driver) {}

  /// A held stream. Destroying it releases the stream.
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

    /// Also releases streams that were held earlier.
    void release() {
      if (StreamHold* const owner = std::exchange(owner_, nullptr)) owner->release(number_);
    }

   private:
    friend class StreamHold;
    Hold(StreamHold& owner, std::uint32_t number) : owner_(&owner), number_(number) {}

    StreamHold* owner_ = nullptr;
    std::uint32_t number_ = 0;
  };

  /// Holds work enqueued on `stream` from now on until the result is released. No effect if the device cannot
  /// do so.
  Hold hold(CUstream stream);

 private:
  bool prepare();
  void release(std::uint32_t number);

  const Driver& driver_;
  std::mutex mutex_;  // guards the members below
  bool is_tried_ = false;
  CUfunction function_ = nullptr;
  volatile std::uint32_t* released_ = nullptr;  // pinned; number of the last released hold
  std::uint32_t number_ = 0;                    // of the last hold
};

}  // namespace lynxpp::device::cuda
