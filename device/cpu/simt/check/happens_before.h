// Which accesses of a launch are ordered: clocks of warps, passed on by barriers, fences and atomics.
//
// Each warp counts time of its own. It knows of each other warp up to which time that one's accesses come
// before its own next one. Warps of other blocks are known by what came through memory alone.
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

/// Up to which time the accesses of warps are known, by block.
class Knowledge {
 public:
  bool empty() const { return blocks_.empty() && !everything_; }
  void join(const Knowledge& other);
  void join(std::uint32_t block, std::shared_ptr<const WarpTimes> times);
  bool knows(std::uint32_t block, std::uint32_t warp, std::uint32_t time) const;
  /// Of one block; null when nothing is known.
  const WarpTimes* of(std::uint32_t block) const;

 private:
  using Entry = std::pair<std::uint32_t, std::shared_ptr<const WarpTimes>>;
  std::vector<Entry> blocks_;  // ascending
  bool everything_ = false;    // it got too much to keep: nothing is a race any more
};

class WarpClock {
 public:
  WarpClock() = default;
  WarpClock(std::uint32_t block, std::uint32_t warp, std::uint32_t warps);

  std::uint32_t now() const { return known_[warp_]; }
  /// Whether an access of that time comes before this warp's next one. One by another lane of this warp does
  /// when the lanes have met since.
  bool knows(std::uint32_t block, std::uint32_t warp, std::uint32_t time, bool same_lane) const {
    if (block != block_) return others_.knows(block, warp, time);
    if (warp == warp_) return same_lane || time < phase_;
    return known_[warp] >= time;
  }

  /// The lanes have met.
  void meet() { phase_ = ++known_[warp_]; }
  /// What others learn that hear of this moment.
  Knowledge snapshot() const;
  void learn(const Knowledge& heard);

  /// What a strong write publishes, and what strong reads have seen: known from the next fence or barrier on.
  void fence(Reach reach);
  void settle();  ///< a barrier: what was seen is known
  /// What others have made ready to publish, and a barrier has passed on, is published, too.
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
  WarpTimes known_;   // of the own block; of this warp: its time
  Knowledge others_;  // of other blocks
  Knowledge released_to_block_;
  Knowledge released_to_device_;
  Knowledge pending_;
};

/// What was published at places in memory.
class SyncPlaces {
 public:
  void publish(std::uint64_t place, std::uint32_t block, const WarpClock& clock, Reach reach);
  void hear(std::uint64_t place, std::uint32_t block, WarpClock& clock, Reach reach) const;
  void clear() { places_.clear(); }

 private:
  struct Published {
    Knowledge to_device;
    std::unordered_map<std::uint32_t, Knowledge> to_block;
  };
  std::unordered_map<std::uint64_t, Published> places_;
};

}  // namespace lynxpp::device::cpu
