// Fast path for blocks whose converged warps run from barrier to barrier together: no stack is inspected, and
// a barrier ends the round.
#include <algorithm>

#include "device/cpu/simt/execute/order/scheduler.h"

namespace lynxpp::device::cpu {
namespace {

/// Barriers between two checks that the launch has not been stopped.
constexpr int rounds_in_step = 64;

}  // namespace

/// True if all warps are converged after the same barrier and nothing observes the launch.
bool BlockRunner::warps_are_in_step() const {
  if (counts_ != nullptr || check_ || seat_ != nullptr || launch_.clock != nullptr || open_barriers_ != 0)
    return false;
  const Warp& first = *warps_.front();
  return std::all_of(warps_.begin(), warps_.end(), [&](const std::unique_ptr<Warp>& warp) {
    if (!is_settled(*warp) || warp->live != warp->threads) return false;
    const LaneGroup& group = warp->frames[0]->groups.front();
    return group.wait == LaneGroup::Wait::none && group.pc == first.frames[0]->groups.front().pc &&
           group.mask == warp->live;
  });
}

/// True if the code that the warp has just run ended with its arrival at a barrier of the whole block.
bool BlockRunner::reaches_block_barrier(const Warp& warp, std::uint32_t taken) const {
  const WarpContext& context = warp.context;
  const Segment& segment = program_.functions[0].segments[context.segment];
  return segment.control == Control::barrier && segment.barrier == BarrierKind::sync &&
         segment.next != no_segment && taken == warp.live && context.barrier_id == 0 &&
         context.barrier_threads == 0 && context.fault.kind == FaultKind::none && context.yields == 0 &&
         context.spun == 0 && context.stack_top == warp.frames[0]->top;
}

/// Runs every warp from barrier to barrier. If a warp does anything else, the warps before it wait at the
/// barrier, and the block continues in the general way.
BlockRunner::Turn BlockRunner::run_in_step() {
  const CompiledFunction& kernel = program_.functions[0];
  waiting_rounds_ = 0;
  for (int round = 0; round < rounds_in_step; ++round) {
    const std::uint32_t pc = warps_.front()->frames[0]->groups.front().pc;
    const Segment& begin = kernel.segments[pc];
    const SegmentFunction region = begin.may_spin || begin.always_split
                                       ? nullptr
                                       : kernel.code[pc].compiled.load(std::memory_order_acquire);
    in_step_ = region != nullptr;
    if (!in_step_) return Turn::again;
    std::uint32_t barrier = no_segment;
    for (const std::unique_ptr<Warp>& warp : warps_) {
      WarpContext& context = warp->context;
      Frame& frame = *warp->frames[0];
      context.turn = slice_segments;
      context.spun = 0;
      warp->spinning_slices = 0;
      warp->waited_slices = 0;
      show(context, frame.groups.front(), frame);
      const std::uint32_t taken = region(&context, warp->live);
      const std::uint32_t end = context.segment;
      if (reaches_block_barrier(*warp, taken) && (barrier == no_segment || barrier == end)) {
        barrier = end;
        continue;
      }
      return leave_step(*warp, taken, barrier);
    }
    for (const std::unique_ptr<Warp>& warp : warps_)
      warp->frames[0]->groups.front().pc = kernel.segments[barrier].next;
  }
  return Turn::again;
}

/// Leaves the fast path. The warps before `warp` have arrived at the barrier that ends this segment; `warp`
/// has not.
BlockRunner::Turn BlockRunner::leave_step(Warp& warp, std::uint32_t taken, std::uint32_t barrier) {
  in_step_ = false;
  Frame& frame = *warp.frames[0];
  const std::uint32_t begin = frame.groups.front().pc;
  for (std::uint32_t i = 0; i < warp.context.warpid; ++i) {
    if (!arrive(*warps_[i], program_.functions[0].segments[barrier], warps_[i]->live)) return Turn::failed;
  }
  return continue_after(warp, frame, begin, taken);
}

}  // namespace lynxpp::device::cpu
