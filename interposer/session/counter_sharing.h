// Launches that share counters: after the first launches of a plan have had records of their own, later ones
// on one stream, in the same ranges, add to one buffer, which is closed and read back from time to time. A
// shared buffer costs a launch nothing but its kernel.
//
//   open (first launch) ▶ launches join ▶ closed: an event after the last one ▶ results as of one launch
//
// A buffer belongs to one stream, so that one event is after all its launches. Buffers are closed by the
// results thread and before anything that they need ends: the specifications, the image, the stream, the
// context, the process.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "interposer/owned_mutex.h"
#include "interposer/session/pending.h"
#include "interposer/session/results_pipeline.h"

namespace lynxpp::interposer {

/// The objects that shared counters need while they are open.
struct SharingOwner {
  device::Device* device = nullptr;
  std::uint64_t image = 0;
  void* stream = nullptr;  ///< the program's
};

/// A launch that is about to add to shared counters, which are not read back while it lives. The launch was
/// not made unless launched() is called.
class JoinedLaunch {
 public:
  JoinedLaunch() = default;
  /// `counters`: counted as in progress already.
  explicit JoinedLaunch(std::shared_ptr<SharedCounters> counters) : counters_(std::move(counters)) {}
  JoinedLaunch(JoinedLaunch&&) = default;
  JoinedLaunch& operator=(JoinedLaunch&& other) noexcept {
    counters_.swap(other.counters_);
    return *this;
  }
  ~JoinedLaunch();

  bool has_joined() const { return counters_ != nullptr; }
  std::span<const std::uint64_t> words() const;  ///< the hidden parameter
  device::Buffer& buffer() const;
  /// The launch with this number was made, and counts.
  void launched(std::uint64_t number);

 private:
  std::shared_ptr<SharedCounters> counters_;
};

/// Thread safe. A launch needs its lock once, in join().
class CounterSharing {
 public:
  using Choice = std::function<bool(const SharingOwner&)>;

  /// Adds what is read back to `results`, which must outlive all calls. `own_records`: launches of a plan
  /// that have records of their own before others share.
  CounterSharing(ResultsPipeline& results, std::uint64_t own_records, bool may_share)
      : results_(results), own_records_(own_records), may_share_(may_share) {}

  /// True if the launch shares counters with others; otherwise counts it as one with a record of its own.
  bool shares(const LaunchPlan& plan, device::Device& device, const device::Launch& launch) const;
  /// From now on every launch has a record of its own.
  void stop_sharing() { may_share_ = false; }

  /// Joins open counters. If no open counters fit, has_joined() is false; the caller then opens
  /// some.
  JoinedLaunch join(const LaunchPlan& plan, void* stream, const std::vector<std::string>& ranges);
  /// Opens counters and joins them. `pending` describes their first launch.
  JoinedLaunch open(const SharingOwner& owner, PendingPtr pending, std::vector<std::uint64_t> words,
                    std::unique_ptr<device::Buffer> buffer);

  /// Closes counters, so that no launch joins, and begins collecting their results: all if launches have
  /// added to them long enough; or the chosen ones. Those of launches in progress, and those that
  /// Device::read_back_shared() keeps, are closed but left for later. Waits at most a second. No lock is
  /// held.
  void close_due();
  void close(const Choice& is_closed);
  void close() {
    close([](const SharingOwner&) { return true; });
  }
  /// Same, until none of those that are chosen now is left or `patience` is over.
  void close_pending(const Choice& is_closed, std::chrono::milliseconds patience);
  /// Closes all because the process dies, whatever work of the program this delays. Returns false if some are
  /// left.
  bool close_at_once(std::chrono::milliseconds patience);
  /// Begins collecting the results of closed counters of the stream, on which the caller has just launched.
  void close_after_launch(void* stream);
  /// Closes those of a stream that is about to be captured or destroyed. Results that cannot be read back
  /// before it is destroyed are lost.
  void leave_stream(void* stream, bool is_destroyed);

  bool is_empty();
  /// True if the calling thread was interrupted while it held the lock.
  bool is_held_by_caller() const { return mutex_.is_held_by_caller(); }
  /// From now on, nothing is closed.
  void stop() { is_over_ = true; }

 private:
  using Counters = std::shared_ptr<SharedCounters>;

  void take(const std::function<bool(const SharedCounters&)>& is_closed, bool after_launch)
      LYNXPP_REQUIRES(closing_) LYNXPP_EXCLUDES(mutex_);
  void read_back(Counters counters, bool after_launch) LYNXPP_REQUIRES(closing_) LYNXPP_EXCLUDES(mutex_);

  ResultsPipeline& results_;
  const std::uint64_t own_records_;
  std::atomic<bool> may_share_;           ///< false: every launch has a record of its own
  std::atomic<bool> has_closed_ = false;  ///< true: some of open_ are closed
  std::atomic<bool> is_over_ = false;
  /// Held from finding shared counters until their event is recorded, so that leave_stream() can wait for
  /// that.
  OwnedMutex<std::timed_mutex> closing_{LockRank::closing};
  // Recursive, because a signal handler may end the program while its thread holds it.
  OwnedMutex<std::recursive_timed_mutex> mutex_{LockRank::sharing};  ///< also guards LaunchPlan::open
  std::vector<Counters> all_ LYNXPP_GUARDED_BY(mutex_);              ///< not read back yet
  /// Not accessed again: their streams do not exist.
  std::vector<Counters> abandoned_ LYNXPP_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point next_closing_ LYNXPP_GUARDED_BY(mutex_);
};

}  // namespace lynxpp::interposer
