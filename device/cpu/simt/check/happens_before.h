// Orders the accesses of a launch with vector clocks of warps, which barriers, fences and atomics propagate.
//
// Each warp counts its own time. For every other warp it knows up to which time that warp's accesses happen
// before its own next access. Warps of other blocks are known only through memory.
//
// Asynchronous operations (async_operations.h) have clocks of their own, numbered after the block's warps:
// one for each lane that issues groups of copies, whose time counts copies, and one for each mbarrier object,
// whose time counts completed phases. A warp knows the time of such a clock after it has waited.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/cpu/simt/check/access_role.h"

namespace lynxpp::device::cpu {

/// Accesses of one clock that happen before others: those up to `time`.
struct Seen {
  std::uint32_t time = 0;
  std::uint32_t fenced = 0;    ///< a proxy fence orders accesses up to this time before the async proxy's
  std::uint32_t consumed = 0;  ///< reads up to this time precede a matrix product that was waited for

  void join(Seen other) {
    time = std::max(time, other.time);
    fenced = std::max(fenced, other.fenced);
    consumed = std::max(consumed, other.consumed);
  }
};

/// Times of one block's clocks: its warps, then its asynchronous operations.
class BlockTimes {
 public:
  explicit BlockTimes(std::size_t clocks = 0) : seen_(clocks) {}
  std::size_t size() const { return seen_.size(); }
  Seen operator[](std::size_t clock) const { return clock < seen_.size() ? seen_[clock] : Seen{}; }
  Seen& at(std::size_t clock) {
    if (clock >= seen_.size()) seen_.resize(clock + 1);
    return seen_[clock];
  }
  void join(const BlockTimes& other);
  void fence_proxies();

 private:
  std::vector<Seen> seen_;
};

/// For each block, the times up to which the accesses of its warps are known.
class Knowledge {
 public:
  bool empty() const { return blocks_.empty() && !everything_; }
  void join(const Knowledge& other);
  void join(std::uint32_t block, std::shared_ptr<const BlockTimes> times);
  /// Returns what is known of one clock of a block.
  Seen of(std::uint32_t block, std::uint32_t clock) const;
  /// Returns the times of one block; null if nothing is known.
  const BlockTimes* of(std::uint32_t block) const;
  /// Orders all known accesses before those of the async proxy.
  void fence_proxies();

 private:
  using Entry = std::pair<std::uint32_t, std::shared_ptr<const BlockTimes>>;
  std::vector<Entry> blocks_;  // ascending
  bool everything_ = false;    // true once the limit is exceeded; then no access is reported as a race
};

/// One access, as a clock orders it: of a warp, or of an asynchronous operation.
struct ClockTime {
  std::uint32_t block = 0;
  std::uint32_t clock = 0;
  std::uint32_t time = 0;
  std::uint32_t lane = 0;  ///< of a warp's access
};

class WarpClock {
 public:
  WarpClock() = default;
  WarpClock(std::uint32_t block, std::uint32_t warp, std::uint32_t warps);

  std::uint32_t now() const { return known_[warp_].time; }
  /// True if an access at that time happens before this warp's next access. For another lane of this warp,
  /// only if the lanes have synchronized since.
  bool knows(std::uint32_t block, std::uint32_t warp, std::uint32_t time, bool same_lane) const {
    if (block != block_) return others_.of(block, warp).time >= time;
    if (warp == warp_) return same_lane || time < phase_;
    return known_[warp].time >= time;
  }
  /// True if the completion of an asynchronous operation happens before the next access by `lane`.
  bool knows_completion(const ClockTime& completion, std::uint32_t lane) const {
    return seen_by(completion, lane).time >= completion.time;
  }
  /// True if a proxy fence orders a known access before accesses of the async proxy by `lane`. `accessor`:
  /// the clock of the accessing warp if it is another one of this block; otherwise null.
  bool has_fenced(const ClockTime& access, std::uint32_t lane, const WarpClock* accessor) const;
  /// True if a matrix product that was waited for follows a known read.
  bool has_consumed(const ClockTime& read, std::uint32_t lane) const {
    return seen_by(read, lane).consumed >= read.time;
  }

  /// The lanes of the warp have synchronized.
  void meet();
  /// Later accesses are not part of what has been published.
  void advance() { ++known_.at(warp_).time; }
  /// Lanes have waited for the completion of asynchronous operations. `per_lane`: `clock` is the first
  /// lane's, and those of other lanes follow.
  void wait(std::uint32_t clock, bool per_lane, std::uint32_t lanes, std::uint32_t time);
  void note_access(std::uint32_t lane) { unfenced_ |= 1u << lane; }
  /// The warp has waited for a matrix product that it issued at this time.
  void consume(std::uint32_t issued) { known_.at(warp_).join({0, 0, issued}); }
  /// `fence.proxy.async` by these lanes.
  void fence_proxies(std::uint32_t lanes);
  /// Returns what others learn if they synchronize with this moment.
  Knowledge snapshot() const;
  void learn(const Knowledge& heard);

  /// Publishes earlier accesses to later strong writes, and makes what strong reads have seen known.
  void fence(Reach reach);
  void settle();  ///< a barrier: what was seen is now known
  /// Publishes what others have made ready to publish and a barrier has passed on.
  void release(const Knowledge& to_block, const Knowledge& to_device) {
    released_to_block_.join(to_block);
    released_to_device_.join(to_device);
  }
  void hear(const Knowledge& seen) { pending_.join(seen); }
  const Knowledge& released(Reach reach) const {
    return reach == Reach::device ? released_to_device_ : released_to_block_;
  }

 private:
  /// A wait of some lanes, which the others do not know until the lanes synchronize.
  struct Waited {
    std::uint32_t clock = 0;
    bool per_lane = false;
    std::uint32_t lanes = 0;
    Seen seen;
    std::uint32_t clock_of(std::uint32_t lane) const { return clock + (per_lane ? lane : 0); }
  };
  /// A proxy fence of some lanes while others had accesses that it does not cover.
  struct PartialFence {
    std::uint32_t time = 0;
    std::uint32_t lanes = 0;
  };
  Seen seen_by(const ClockTime& completion, std::uint32_t lane) const;
  void add_waited(BlockTimes& to) const;

  std::uint32_t block_ = 0;
  std::uint32_t warp_ = 0;
  std::uint32_t phase_ = 1;
  BlockTimes known_;  // of this block; for this warp, its own time
  std::vector<Waited> waited_;
  std::uint32_t unfenced_ = 0;  // lanes with accesses since the lanes synchronized or fenced
  std::vector<PartialFence> partial_fences_;
  Knowledge others_;  // of other blocks
  Knowledge released_to_block_;
  Knowledge released_to_device_;
  Knowledge pending_;
};

/// Knowledge published at memory locations.
class SyncVariables {
 public:
  void publish(std::uint64_t address, std::uint32_t block, const WarpClock& clock, Reach reach);
  void hear(std::uint64_t address, std::uint32_t block, WarpClock& clock, Reach reach) const;
  void clear() { published_.clear(); }

 private:
  struct Published {
    Knowledge to_device;
    std::unordered_map<std::uint32_t, Knowledge> to_block;
  };
  std::unordered_map<std::uint64_t, Published> published_;
};

}  // namespace lynxpp::device::cpu
