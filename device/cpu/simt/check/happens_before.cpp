#include "device/cpu/simt/check/happens_before.h"

#include <algorithm>

namespace lynxpp::device::cpu {
namespace {

/// Most blocks for which a warp keeps separate times. Without the limit, a chain of blocks that each wait for
/// the previous one takes memory and time quadratic in its length.
constexpr std::size_t most_blocks = 4096;

std::shared_ptr<const WarpTimes> latest(const std::shared_ptr<const WarpTimes>& a,
                                        const std::shared_ptr<const WarpTimes>& b) {
  if (a == b) return a;
  auto joined = std::make_shared<WarpTimes>(*a);
  for (std::size_t warp = 0; warp < joined->size(); ++warp)
    (*joined)[warp] = std::max((*joined)[warp], (*b)[warp]);
  return joined;
}

}  // namespace

void Knowledge::join(const Knowledge& other) {
  everything_ |= other.everything_;
  if (everything_) return blocks_.clear();
  if (other.blocks_.empty()) return;
  if (blocks_.empty()) {
    blocks_ = other.blocks_;
    return;
  }
  std::vector<Entry> joined;
  joined.reserve(blocks_.size() + other.blocks_.size());
  auto a = blocks_.begin();
  auto b = other.blocks_.begin();
  while (a != blocks_.end() || b != other.blocks_.end()) {
    if (b == other.blocks_.end() || (a != blocks_.end() && a->first < b->first)) {
      joined.push_back(std::move(*a++));
    } else if (a == blocks_.end() || b->first < a->first) {
      joined.push_back(*b++);
    } else {
      joined.emplace_back(a->first, latest(a->second, b->second));
      ++a;
      ++b;
    }
  }
  blocks_ = std::move(joined);
  everything_ = blocks_.size() > most_blocks;
  if (everything_) blocks_.clear();
}

void Knowledge::join(std::uint32_t block, std::shared_ptr<const WarpTimes> times) {
  Knowledge one;
  one.blocks_.emplace_back(block, std::move(times));
  join(one);
}

const WarpTimes* Knowledge::of(std::uint32_t block) const {
  const auto found = std::ranges::lower_bound(blocks_, block, {}, &Entry::first);
  return found != blocks_.end() && found->first == block ? found->second.get() : nullptr;
}

bool Knowledge::knows(std::uint32_t block, std::uint32_t warp, std::uint32_t time) const {
  if (everything_) return true;
  const WarpTimes* const times = of(block);
  return times != nullptr && (*times)[warp] >= time;
}

WarpClock::WarpClock(std::uint32_t block, std::uint32_t warp, std::uint32_t warps)
    : block_(block), warp_(warp), known_(warps, 0) {
  known_[warp] = 1;
}

Knowledge WarpClock::snapshot() const {
  Knowledge made = others_;
  made.join(block_, std::make_shared<const WarpTimes>(known_));
  return made;
}

void WarpClock::learn(const Knowledge& heard) {
  if (heard.empty()) return;
  // Nobody has heard of a later time of this warp than it has itself.
  if (const WarpTimes* const times = heard.of(block_); times != nullptr) {
    for (std::size_t warp = 0; warp < known_.size(); ++warp)
      known_[warp] = std::max(known_[warp], (*times)[warp]);
  }
  others_.join(heard);
}

void WarpClock::fence(Reach reach) {
  settle();
  released_to_block_ = snapshot();
  if (reach == Reach::device) released_to_device_ = released_to_block_;
  meet();
}

void WarpClock::settle() {
  learn(pending_);
  pending_ = {};
}

void SyncVariables::publish(std::uint64_t address, std::uint32_t block, const WarpClock& clock, Reach reach) {
  if (!clock.released(Reach::block).empty())
    published_[address].to_block[block].join(clock.released(Reach::block));
  if (reach == Reach::device && !clock.released(Reach::device).empty())
    published_[address].to_device.join(clock.released(Reach::device));
}

void SyncVariables::hear(std::uint64_t address, std::uint32_t block, WarpClock& clock, Reach reach) const {
  const auto found = published_.find(address);
  if (found == published_.end()) return;
  if (const auto own = found->second.to_block.find(block); own != found->second.to_block.end())
    clock.hear(own->second);
  if (reach == Reach::device) clock.hear(found->second.to_device);
}

}  // namespace lynxpp::device::cpu
