// Lanes of a warp that wait for each other: meetings, and the choice of the lanes that run meanwhile.
#include <bit>
#include <cstdio>
#include <iterator>

#include "device/cpu/simt/execute/order/scheduler.h"

namespace lynxpp::device::cpu {
namespace {

using Wait = LaneGroup::Wait;

/// True if the group has reached its reconvergence point, whether or not it has been popped.
bool has_joined(const LaneGroup& group) {
  return group.wait == Wait::none && group.calls.empty() && group.pc != no_segment &&
         group.pc == group.reconvergence;
}

/// Returns the lanes of groups[index] that depend on no group above it.
std::uint32_t free_lanes(const std::vector<LaneGroup>& groups, std::size_t index) {
  std::uint32_t lanes = groups[index].mask;
  for (std::size_t i = index + 1; i < groups.size(); ++i) lanes &= ~groups[i].mask;
  return lanes;
}

/// Returns the lanes that have returned from a call that other lanes are still executing.
std::uint32_t returned_lanes(const Frame& frame, std::uint32_t live) {
  std::uint32_t lanes = frame.lanes & live;
  for (const LaneGroup& group : frame.groups) lanes &= ~group.mask;
  return lanes;
}

/// True if lanes of the group, or of its callees, are not waiting.
bool can_run(const LaneGroup& group, std::uint32_t live) {
  if (group.calls.empty()) return group.wait == Wait::none;
  for (const std::unique_ptr<Frame>& frame : group.calls) {
    if (returned_lanes(*frame, live) != 0) return true;
    const bool is_last = frame == group.calls.back();
    for (std::size_t i = 0; i < frame->groups.size(); ++i) {
      const bool is_in_call = !is_last && i + 1 == frame->groups.size();
      if (!is_in_call && free_lanes(frame->groups, i) != 0 && can_run(frame->groups[i], live)) return true;
    }
  }
  return false;
}

std::string lanes_text(std::uint32_t lanes) {
  char text[16];
  std::snprintf(text, sizeof(text), "0x%08x", lanes);
  return text;
}

/// Returns the instruction at which a waiting group waits.
const ptx::Instruction& instruction_at(const Frame& frame, const LaneGroup& group) {
  const std::vector<Segment>& segments = frame.function->segments;
  const std::uint32_t at =
      group.wait == Wait::meeting ? segments[group.pc].begin : segments[group.pc - 1].end - 1;
  return frame.function->function->body->instructions[at];
}

}  // namespace

// ---------------------------------------------------------------- which lanes run

/// Brings other lanes of the warp to the top that depend on no group above theirs. If none exist, lanes
/// that wait for others to reconverge continue without them. Returns false if no lanes can run.
///
/// Lanes that spin or wait at a barrier of the block may wait for any lane: the farthest group comes first,
/// so that all get a turn. Lanes at a meeting wait for lanes that they diverged from: the nearest group comes
/// first, so that the fewest lanes diverge.
bool BlockRunner::give_way(Warp& warp, Preference preference) {
  if (warp.is_converged()) return false;
  const bool nearest = preference == Preference::nearest;
  for (const bool only_full_groups : {true, false}) {
    if (only_full_groups && !nearest) continue;
    for (std::uint32_t level = warp.depth; level-- > 0;) {
      if (bring_forward(warp, level, preference, only_full_groups)) return true;
    }
  }
  return release_returned_lanes(warp);
}

/// Lets lanes that have returned from a call continue while others wait in the call. Returns false if there
/// are no such lanes.
bool BlockRunner::release_returned_lanes(Warp& warp) {
  for (std::uint32_t level = warp.depth; level-- > 1;) {
    Frame& callee = *warp.frames[level];
    const std::uint32_t lanes = returned_lanes(callee, warp.live);
    if (lanes == 0) continue;
    copy_results(warp, callee, *warp.frames[level - 1], lanes);
    callee.lanes &= ~lanes;
    interrupt_calls(warp, level);
    std::vector<LaneGroup>& groups = warp.top().groups;
    groups.back().mask &= ~lanes;
    groups.push_back({.pc = callee.call->next, .reconvergence = groups.back().reconvergence, .mask = lanes});
    return true;
  }
  return false;
}

/// Moves the frames from `level` on to the group that made the call.
void BlockRunner::interrupt_calls(Warp& warp, std::uint32_t level) {
  const auto interrupted = warp.frames.begin() + level;
  const auto end = warp.frames.begin() + warp.depth;
  std::move(interrupted, end, std::back_inserter(warp.frames[level - 1]->groups.back().calls));
  warp.frames.erase(interrupted, end);
  warp.depth = level;
}

/// Same as give_way() for one frame. `only_full_groups`: only groups that no other lanes will join.
bool BlockRunner::bring_forward(Warp& warp, std::uint32_t level, Preference preference,
                                bool only_full_groups) {
  std::vector<LaneGroup>& groups = warp.frames[level]->groups;
  std::size_t others = groups.size() - 1;
  for (std::size_t i = others; i-- > 0;) {
    if (!has_joined(groups[i])) continue;
    groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(i));
    --others;
  }
  for (std::size_t visited = 0; visited < others; ++visited) {
    const std::size_t i = preference == Preference::nearest ? others - 1 - visited : visited;
    const std::uint32_t lanes = free_lanes(groups, i);
    if (lanes == 0 || (only_full_groups && lanes != groups[i].mask) || !can_run(groups[i], warp.live))
      continue;
    interrupt_calls(warp, level + 1);
    LaneGroup freed{.pc = groups[i].pc, .reconvergence = groups[i].reconvergence, .mask = lanes};
    if (lanes == groups[i].mask) {
      freed = std::move(groups[i]);
      groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      groups[i].mask &= ~lanes;
    }
    groups.push_back(std::move(freed));
    return true;
  }
  return false;
}

/// Resumes the calls of the topmost group, which other lanes interrupted.
void BlockRunner::resume_calls(Warp& warp) {
  std::vector<std::unique_ptr<Frame>> calls = std::move(warp.top().groups.back().calls);
  warp.top().groups.back().calls.clear();
  const auto count = static_cast<std::uint32_t>(calls.size());
  warp.frames.insert(warp.frames.begin() + warp.depth, std::move_iterator(calls.begin()),
                     std::move_iterator(calls.end()));
  warp.depth += count;
}

// ---------------------------------------------------------------- meetings

/// Makes `lanes` of the topmost group arrive at a meeting. Lanes with the same members wait until all members
/// that have not exited have arrived; lanes whose members are complete continue.
bool BlockRunner::meet(Warp& warp, const Segment& segment, std::uint32_t lanes) {
  Frame& frame = warp.top();
  LaneGroup& group = frame.groups.back();
  const std::uint32_t pc = segment.next;
  std::vector<LaneGroup> sides;
  std::uint32_t waiting = 0;
  for (std::uint32_t left = lanes; left != 0;) {
    const std::uint32_t members = warp.context.members[std::countr_zero(left)];
    std::uint32_t same = 0;
    for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
      if ((left >> lane & 1) != 0 && warp.context.members[lane] == members) same |= 1u << lane;
    }
    left &= ~same;
    if ((members & warp.live & ~same) == 0) continue;
    sides.push_back({.pc = pc, .mask = same, .wait = Wait::meeting, .members = members});
    waiting |= same;
  }
  const std::uint32_t going = group.mask & ~waiting;
  if (going != 0) exchange(warp, frame, pc, going, lanes & ~waiting);
  const std::uint32_t after = frame.function->segments[pc].next;
  if (waiting == 0) {
    group.pc = after;
    return true;
  }
  warp.meeting |= waiting;
  std::vector<std::uint32_t> awaited;
  for (const LaneGroup& side : sides) awaited.push_back(side.members);
  if (going == 0 && sides.size() == 1) {
    group.pc = pc;
    group.wait = Wait::meeting;
    group.members = sides[0].members;
  } else {
    if (going != 0) sides.push_back({.pc = after, .mask = going});
    diverge(frame, segment.reconvergence, sides);
  }
  const std::string_view opcode = frame.function->function->body->instructions[segment.end].opcode;
  for (const std::uint32_t members : awaited) complete_meeting(warp, opcode, members);
  return true;
}

/// Executes the operation at `pc` for lanes of one group with the values that `participants` contributed.
void BlockRunner::exchange(Warp& warp, const Frame& frame, std::uint32_t pc, std::uint32_t lanes,
                           std::uint32_t participants) {
  WarpContext& context = warp.context;
  context.registers = frame.registers;
  context.frame = frame.local;
  context.participants = participants;
  context.live = warp.live;
  const Segment& segment = frame.function->segments[pc];
  if (warp.recorder) warp.recorder->begin_segment(*frame.function, segment);
  run_segment(*frame.function, pc, context, lanes);
  if (warp.recorder) warp.recorder->end_segment(segment);
  if (counts_ == nullptr) return;
  SegmentCounts& counts = counts_->segments[frame.function->segment_base + pc];
  ++counts.warps;
  counts.lanes += static_cast<std::uint64_t>(std::popcount(lanes));
}

/// Executes the operation for all waiting lanes once all members have arrived or exited. Lanes may have
/// arrived at different instructions: they meet if the opcode with all its modifiers and the members are the
/// same, as on a GPU (on an H100, lanes at other instructions wait forever).
void BlockRunner::complete_meeting(Warp& warp, std::string_view opcode, std::uint32_t members) {
  const auto waits_there = [&](const Frame& frame, const LaneGroup& group) {
    return group.wait == Wait::meeting && group.members == members &&
           instruction_at(frame, group).opcode == opcode;
  };
  std::uint32_t arrived = 0;
  for_each_group(warp.used_frames(), [&](const Frame& frame, const LaneGroup& group) {
    if (waits_there(frame, group)) arrived |= group.mask;
  });
  if (arrived == 0 || (members & warp.live & ~arrived) != 0) return;
  warp.meeting &= ~arrived;
  for_each_group(warp.used_frames(), [&](const Frame& frame, LaneGroup& group) {
    if (!waits_there(frame, group)) return;
    exchange(warp, frame, group.pc, group.mask, arrived);
    group.pc = frame.function->segments[group.pc].next;
    group.wait = Wait::none;
  });
}

/// Completes meetings after lanes have exited, because exited lanes are no longer awaited.
void BlockRunner::complete_meetings(Warp& warp) {
  if (warp.meeting == 0) return;
  std::vector<std::pair<std::string_view, std::uint32_t>> open;
  for_each_group(warp.used_frames(), [&](const Frame& frame, const LaneGroup& group) {
    if (group.wait == Wait::meeting) open.emplace_back(instruction_at(frame, group).opcode, group.members);
  });
  for (const auto& [opcode, members] : open) complete_meeting(warp, opcode, members);
}

/// Fails if all warps of the block wait; reports a meeting that cannot complete, else a barrier.
bool BlockRunner::fail_if_deadlocked() {
  for (const std::unique_ptr<Warp>& warp : warps_) {
    if (warp->meeting == 0) continue;
    const Frame* in = nullptr;
    const LaneGroup* waiting = nullptr;
    std::uint32_t arrived = 0;
    for_each_group(warp->used_frames(), [&](const Frame& frame, const LaneGroup& group) {
      if (group.wait != Wait::meeting) return;
      if (waiting == nullptr) {
        in = &frame;
        waiting = &group;
      }
      const bool is_same = instruction_at(frame, group).opcode == instruction_at(*in, *waiting).opcode;
      if (is_same && group.members == waiting->members) arrived |= group.mask;
    });
    if (waiting == nullptr) continue;
    const std::uint32_t missing = waiting->members & warp->live & ~arrived;
    const std::uint32_t first = 1u << (std::countr_zero(missing) & 31);
    std::string elsewhere;
    for_each_group(warp->used_frames(), [&](const Frame& frame, const LaneGroup& group) {
      if (group.wait == Wait::none || (group.mask & first) == 0) return;
      const ptx::Instruction& at = instruction_at(frame, group);
      elsewhere = ", which wait at '" + std::string(at.opcode) + "' in line " + std::to_string(at.line);
      if (group.wait == Wait::meeting) elsewhere += " for lanes " + lanes_text(group.members);
    });
    const Segment& segment = in->function->segments[waiting->pc];
    return fail_waiting(place_at(*warp, *in, segment, arrived),
                        "lanes " + lanes_text(arrived) + " of warp " + std::to_string(warp->context.warpid) +
                            " wait forever at '" + std::string(instruction_at(*in, *waiting).opcode) +
                            "' for lanes " + lanes_text(missing) + elsewhere);
  }
  return fail_at_barrier();
}

}  // namespace lynxpp::device::cpu
