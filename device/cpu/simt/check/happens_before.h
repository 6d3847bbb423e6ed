// Orders the accesses of a launch with vector clocks of warps, which barriers, fences and atomics propagate.
//
// Each warp counts its own time. For every other warp it knows up to which time that warp's accesses happen
// before its own next access. Warps of other blocks are known only through memory.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/cpu/simt/check/access_role.h"

namespace lynxpp::device::cpu {

/// Times of the warps of one block.
using WarpTimes = std::vector<std::uint32_t>;

/// For each block, the times up to which the accesses of its warps are known.
class Knowledge {
 public:
  bool empty() const { return blocks_.empty() && !everything_; }
  void join(const Knowledge& other);
  void join(std::uint32_t block, std::shared_ptr<const WarpTimes> times);
  bool knows(std::uint32_t block, std::uint32_t warp, std::uint32_t time) const;
  /// Returns the times of one block; null if nothing is known.
  const WarpTimes* of(std::uint32_t block) const;

 private:
  using Entry = std::pair<std::uint32_t, std::shared_ptr<const WarpTimes>>;
  std::vector<Entry> blocks_;  // ascending
  bool everything_ = false;    // true once the limit is exceeded; then no access is reported as a race
};

class WarpClock {
 public:
  WarpClock() = default;
  WarpClock(std::uint32_t block, std::uint32_t warp, std::uint32_t warps);

  std::uint32_t now() const { return known_[warp_]; }
  /// True if an access at that time happens before this warp's next access. For another lane of this warp,
  /// only if the lanes have synchronized since.
  bool knows(std::uint32_t block, std::uint32_t warp, std::uint32_t time, bool same_lane) const {
    if (block != block_) return others_.knows(block, warp, time);
    if (warp == warp_) return same_lane || time < phase_;
    return known_[warp] >= time;
  }

  /// The lanes of the warp have synchronized.
  void meet() { phase_ = ++known_[warp_]; }
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
  std::uint32_t block_ = 0;
  std::uint32_t warp_ = 0;
  std::uint32_t phase_ = 1;
  WarpTimes known_;   // of this block; for this warp, its own time
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
