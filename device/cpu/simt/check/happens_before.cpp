#include "device/cpu/simt/check/happens_before.h"

#include <algorithm>

namespace lynxpp::device::cpu {
namespace {

/// Most blocks for which a warp keeps separate times. Without the limit, a chain of blocks that each wait for
/// the previous one takes memory and time quadratic in its length.
constexpr std::size_t most_blocks = 4096;
constexpr std::size_t most_partial_fences = 64;

std::shared_ptr<const BlockTimes> latest(const std::shared_ptr<const BlockTimes>& a,
                                         const std::shared_ptr<const BlockTimes>& b) {
  if (a == b) return a;
  auto joined = std::make_shared<BlockTimes>(*a);
  joined->join(*b);
  return joined;
}

}  // namespace

void BlockTimes::join(const BlockTimes& other) {
  if (other.seen_.size() > seen_.size()) seen_.resize(other.seen_.size());
  for (std::size_t clock = 0; clock < other.seen_.size(); ++clock) seen_[clock].join(other.seen_[clock]);
}

void BlockTimes::fence_proxies() {
  for (Seen& seen : seen_) seen.fenced = seen.time;
}

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

void Knowledge::join(std::uint32_t block, std::shared_ptr<const BlockTimes> times) {
  Knowledge one;
  one.blocks_.emplace_back(block, std::move(times));
  join(one);
}

const BlockTimes* Knowledge::of(std::uint32_t block) const {
  const auto found = std::ranges::lower_bound(blocks_, block, {}, &Entry::first);
  return found != blocks_.end() && found->first == block ? found->second.get() : nullptr;
}

Seen Knowledge::of(std::uint32_t block, std::uint32_t clock) const {
  if (everything_) return {~0u, ~0u, ~0u};
  const BlockTimes* const times = of(block);
  return times != nullptr ? (*times)[clock] : Seen{};
}

void Knowledge::fence_proxies() {
  for (Entry& entry : blocks_) {
    auto fenced = std::make_shared<BlockTimes>(*entry.second);
    fenced->fence_proxies();
    entry.second = std::move(fenced);
  }
}

// ---------------------------------------------------------------- warps

WarpClock::WarpClock(std::uint32_t block, std::uint32_t warp, std::uint32_t warps)
    : block_(block), warp_(warp), known_(warps) {
  known_.at(warp).time = 1;
}

Seen WarpClock::seen_by(const ClockTime& completion, std::uint32_t lane) const {
  if (completion.block != block_) return others_.of(completion.block, completion.clock);
  Seen seen = known_[completion.clock];
  for (const Waited& each : waited_) {
    if ((each.lanes >> lane & 1) != 0 && each.clock_of(lane) == completion.clock) seen.join(each.seen);
  }
  return seen;
}

bool WarpClock::has_fenced(const ClockTime& access, std::uint32_t lane, const WarpClock* accessor) const {
  if (seen_by(access, lane).fenced >= access.time) return true;
  if (access.block != block_ || (accessor == nullptr && access.clock != warp_)) return false;
  const WarpClock& fencing = accessor != nullptr ? *accessor : *this;
  const std::uint32_t known = accessor != nullptr ? known_[access.clock].time : now();
  return std::ranges::any_of(fencing.partial_fences_, [&](const PartialFence& fence) {
    return access.time <= fence.time && fence.time <= known && (fence.lanes >> access.lane & 1) != 0;
  });
}

void WarpClock::add_waited(BlockTimes& to) const {
  for (const Waited& each : waited_) {
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      if ((each.lanes >> lane & 1) == 0) continue;
      to.at(each.clock_of(lane)).join(each.seen);
      if (!each.per_lane) break;
    }
  }
}

void WarpClock::meet() {
  phase_ = ++known_.at(warp_).time;
  unfenced_ = 0;
  add_waited(known_);
  waited_.clear();
}

void WarpClock::wait(std::uint32_t clock, bool per_lane, std::uint32_t lanes, std::uint32_t time) {
  Seen seen{.time = time};
  std::erase_if(waited_, [&](const Waited& each) {
    if (each.clock != clock || (each.lanes & ~lanes) != 0 || each.seen.time > time) return false;
    seen.join(each.seen);
    return true;
  });
  for (Waited& each : waited_) {
    if (each.clock != clock || each.seen.time != time || each.seen.fenced != seen.fenced) continue;
    each.lanes |= lanes;
    return;
  }
  waited_.push_back({clock, per_lane, lanes, seen});
}

void WarpClock::fence_proxies(std::uint32_t lanes) {
  const Seen before = known_[warp_];
  known_.fence_proxies();
  others_.fence_proxies();
  for (Waited& each : waited_) {
    if ((each.lanes & lanes) != 0) each.seen.fenced = each.seen.time;
  }
  if ((unfenced_ & ~lanes) == 0) {
    unfenced_ = 0;
  } else {
    // Other lanes' accesses since they synchronized with these are not covered.
    known_.at(warp_).fenced = std::max(before.fenced, phase_ - 1);
    unfenced_ &= ~lanes;
    if (partial_fences_.size() == most_partial_fences) partial_fences_.erase(partial_fences_.begin());
    partial_fences_.push_back({before.time, lanes});
  }
  advance();
}

Knowledge WarpClock::snapshot() const {
  Knowledge made = others_;
  auto times = std::make_shared<BlockTimes>(known_);
  add_waited(*times);
  made.join(block_, std::move(times));
  return made;
}

void WarpClock::learn(const Knowledge& heard) {
  if (heard.empty()) return;
  if (const BlockTimes* const times = heard.of(block_); times != nullptr) {
    // Nobody has heard of a later time of this warp than it has itself. Its lanes up to then are ordered.
    known_.join(*times);
    phase_ = std::max(phase_, (*times)[warp_].time + 1);
  }
  others_.join(heard);
}

void WarpClock::fence(Reach reach) {
  settle();
  released_to_block_ = snapshot();
  if (reach == Reach::device) released_to_device_ = released_to_block_;
  phase_ = ++known_.at(warp_).time;
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
