// Turns of warps in launches with a schedule, and the proof that warps wait forever.
#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <string>

#include "device/cpu/simt/execute/order/scheduler.h"

namespace lynxpp::device::cpu {
namespace {

/// Longest turn with a schedule: short, because a warp that waits for a delayed one spins in vain.
constexpr std::int32_t scheduled_slice_segments = 1024;
/// Turns without any change after which the state of a warp is remembered.
constexpr std::uint32_t turns_before_watch = 8;
/// The slices of spinning lanes after which others of the warp run make a difference up to this number.
constexpr std::uint32_t most_waited_slices = 16;

class Hash {
 public:
  void add(std::uint64_t value) { state_ = (std::rotl(state_, 23) ^ value) * 0x9e37'79b9'7f4a'7c15; }
  void add(const std::byte* bytes, std::uint64_t count) {
    std::uint64_t at = 0;
    for (; at + 8 <= count; at += 8) {
      std::uint64_t value = 0;
      std::memcpy(&value, bytes + at, 8);
      add(value);
    }
    for (; at < count; ++at) add(std::to_integer<std::uint64_t>(bytes[at]));
  }
  std::uint64_t value() const { return state_ ^ state_ >> 32; }

 private:
  std::uint64_t state_ = 0x243f'6a88'85a3'08d3;
};

}  // namespace

void BlockRunner::begin_schedule() {
  const auto warps = static_cast<std::uint32_t>(warps_.size());
  // The last alternative is the reverse order.
  rotation_ = launch_.schedule()->choose(ChoiceKind::rotation, {number_, Actor::whole_block},
                                         warps > 1 ? warps + 1 : 1);
  has_delays_ = false;
}

std::size_t BlockRunner::scheduled_index(std::size_t turn) const {
  const std::size_t warps = warps_.size();
  return rotation_ == warps ? warps - 1 - turn : (turn + rotation_) % warps;
}

/// Returns true if the warp's turn passes without it. A warp that could not run is not delayed.
bool BlockRunner::is_delayed(Warp& warp) {
  if (warp.delay > 0) return --warp.delay > 0;
  const bool can_run = warp.is_new || warp.depth == 0 || warp.top().groups.empty() ||
                       warp.top().groups.back().wait == LaneGroup::Wait::none;
  if (!can_run) return false;
  const std::uint32_t chosen =
      launch_.schedule()->choose(ChoiceKind::delay, {number_, warp.context.warpid}, std::size(delay_rounds));
  warp.delay = delay_rounds[chosen];
  return warp.delay > 0;
}

BlockRunner::Turn BlockRunner::take_scheduled_turn(Warp& warp) {
  if (is_delayed(warp)) {
    has_delays_ = true;
    return Turn::again;
  }
  const std::uint32_t chosen = launch_.schedule()->choose(ChoiceKind::slice, {number_, warp.context.warpid},
                                                          1 + std::size(slice_accesses));
  warp.slice = scheduled_slice_segments;
  warp.accesses_left = chosen == 0 ? 0 : slice_accesses[chosen - 1];
  const Turn turn = take_turn(warp);
  check_->settle_atomics();
  if (turn == Turn::again || turn == Turn::blocked) watch(warp, turn == Turn::blocked);
  return turn;
}

/// Delays end when nothing else happens meanwhile.
void BlockRunner::end_scheduled_round(std::uint64_t changes_before) {
  check_->end_round();
  if (!has_delays_ || launch_.explored->changes != changes_before) return;
  for (const std::unique_ptr<Warp>& warp : warps_) warp->delay = 0;
  has_delays_ = false;
}

/// Hashes everything that determines what the warp does next, except memory that other threads access.
std::uint64_t BlockRunner::state_of(const Warp& warp) const {
  Hash hash;
  hash.add(warp.live);
  hash.add(warp.depth);
  hash.add(std::min(warp.waited_slices, most_waited_slices));
  for_each_group(warp.used_frames(), [&](const Frame& frame, const LaneGroup& group) {
    if (&group == &frame.groups.front()) {
      hash.add(static_cast<std::uint64_t>(frame.function - program_.functions.data()));
      hash.add(frame.registers, frame.function->registers->bytes());
    }
    hash.add(std::uint64_t{group.pc} << 32 | group.mask);
    hash.add(std::uint64_t{group.reconvergence} << 32 | group.members);
    hash.add(static_cast<std::uint64_t>(group.wait) << 32 | group.barrier);
  });
  hash.add(warp.context.local, launch_.local_bytes * warp_size);
  return hash.value();
}

/// Notes whether the warp is blocked or repeats a state since the last change: if no warp changes anything
/// any more, all of them wait forever.
void BlockRunner::watch(Warp& warp, bool is_blocked) {
  Watch& watched = warp.watch;
  if (watched.changes != launch_.explored->changes) watched = {.changes = launch_.explored->changes};
  watched.is_stuck |= is_blocked;
  if (watched.is_stuck || ++watched.turns < turns_before_watch) return;
  const std::uint64_t state = state_of(warp);
  watched.is_stuck = watched.has_state && state == watched.state;
  if (!std::has_single_bit(watched.turns)) return;
  watched.state = state;
  watched.has_state = true;
}

bool BlockRunner::is_stuck() const {
  return std::ranges::all_of(warps_, [&](const std::unique_ptr<Warp>& warp) {
    if (warp->is_new) return false;
    return warp->depth == 0 || (warp->watch.is_stuck && warp->watch.changes == launch_.explored->changes);
  });
}

void BlockRunner::perform_overdue() { check_->perform_overdue(); }

bool BlockRunner::fail_stuck(const std::string& others) {
  const auto awaits_object = [](const std::unique_ptr<Warp>& warp) {
    return warp->depth != 0 && warp->context.awaited.site != nullptr;
  };
  if (std::ranges::any_of(warps_, awaits_object)) return fail_at_object();
  for (const std::unique_ptr<Warp>& warp : warps_) {
    if (warp->depth == 0 || warp->top().groups.empty()) continue;
    const LaneGroup& group = warp->top().groups.back();
    if (group.wait != LaneGroup::Wait::none || group.pc == no_segment) continue;
    const CompiledFunction& function = *warp->top().function;
    FindingPlace place = place_at(*warp, warp->top(), function.segments[group.pc], group.mask);
    place.action = "a loop that waits for other threads";
    return fail_waiting(std::move(place), "warp " + std::to_string(warp->context.warpid) + " of block (" +
                                              std::to_string(index_[0]) + ", " + std::to_string(index_[1]) +
                                              ", " + std::to_string(index_[2]) +
                                              ") waits forever: no thread changes memory any more; " +
                                              describe_cluster_waits() + others);
  }
  return fail_at_barrier();
}

}  // namespace lynxpp::device::cpu
