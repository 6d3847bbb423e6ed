// State of a warp: its call frames and the groups into which its lanes have diverged.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "device/cpu/simt/compile/program.h"
#include "device/cpu/simt/execute/context.h"
#include "device/cpu/simt/execute/counters/clock.h"
#include "device/cpu/simt/execute/memory/block_memory.h"

namespace lynxpp::device::cpu {

struct Frame;

/// Segments that a warp runs before the next warp gets a turn.
inline constexpr std::int32_t slice_segments = 4096;

/// Converged lanes of a warp.
struct LaneGroup {
  enum class Wait { none, barrier, meeting, cluster };
  std::uint32_t pc = 0;                      ///< next segment; no_segment: the function returns
  std::uint32_t reconvergence = no_segment;  ///< segment where the group joins the one below
  std::uint32_t mask = 0;
  Wait wait = Wait::none;
  std::uint32_t barrier = 0;  ///< awaited barrier, with Wait::barrier
  std::uint32_t barrier_result = 0;
  std::uint32_t members = 0;                       ///< awaited, with Wait::meeting at `pc`
  bool calls_indirectly = false;                   ///< the call at `pc` has not been made yet
  std::vector<std::unique_ptr<Frame>> calls = {};  ///< interrupted call frames, outermost first
};

/// A call frame. `groups` is the SIMT stack: a group waits until those above it have joined it or exited. A
/// lane executes in the topmost group that contains it.
struct Frame {
  const CompiledFunction* function = nullptr;
  AlignedBuffer storage;
  std::byte* registers = nullptr;
  std::uint64_t local = 0;        ///< local address of the frame
  std::uint64_t top = 0;          ///< local address at which a callee's frame begins
  const Segment* call = nullptr;  ///< the caller's segment; null for the kernel
  std::uint32_t lanes = 0;        ///< lanes that were called
  std::vector<LaneGroup> groups;
  std::uint64_t targets[warp_size] = {};  ///< of an indirect call from this frame
};

/// The course of a warp since memory last changed, in launches with a schedule.
struct Watch {
  std::uint64_t changes = 0;  ///< ExploredRun::changes at that time
  std::uint32_t turns = 0;    ///< since then
  bool is_stuck = false;      ///< true if it will do the same until memory changes
  bool has_state = false;
  std::uint64_t state = 0;  ///< hash after an earlier turn
};

struct Warp {
  WarpContext context;
  /// Frames [0, depth) are in use; the topmost group of each called the next. Interrupted calls of other
  /// groups are stored in those groups.
  std::vector<std::unique_ptr<Frame>> frames;
  std::uint32_t depth = 0;
  bool is_new = false;                    ///< true if it has not started its block
  std::uint32_t threads = 0;              ///< lanes that have a thread
  std::byte* kernel_registers = nullptr;  ///< of frames[0], once allocated
  std::uint32_t live = 0;                 ///< lanes that have not exited
  std::uint32_t meeting = 0;              ///< lanes that wait at a meeting
  std::uint32_t spinning_slices = 0;
  std::int32_t slice = slice_segments;   ///< length of its turns
  std::uint32_t accesses_left = 0;       ///< before it is preempted (schedule.h); 0: no limit
  std::uint32_t delay = 0;               ///< rounds before its next turn, in launches with a schedule
  Watch watch;                           ///< likewise
  const Segment* exit = nullptr;         ///< last known exit of lanes
  std::uint32_t waited_slices = 0;       ///< spinning slices during which some lanes waited throughout
  std::optional<StepRecorder> recorder;  ///< in launches with modelled time

  /// True if all lanes are in the kernel and converged, the common case.
  bool is_converged() const { return depth == 1 && frames[0]->groups.size() == 1; }
  /// Precondition: the warp has a topmost group.
  bool has_waiting_lanes() const { return top().groups.back().mask != live; }
  const Frame& top() const { return *frames[depth - 1]; }
  Frame& top() { return *frames[depth - 1]; }
  std::span<const std::unique_ptr<Frame>> used_frames() const { return {frames.data(), depth}; }
};

template <typename Visit>
void for_each_group_of_calls(const LaneGroup& group, const Visit& visit);

/// Calls `visit(frame, group)` for every group of the frames, including those of interrupted calls.
template <typename Visit>
inline void for_each_group(std::span<const std::unique_ptr<Frame>> frames, const Visit& visit) {
  for (const std::unique_ptr<Frame>& frame : frames) {
    for (LaneGroup& group : frame->groups) {
      visit(*frame, group);
      if (!group.calls.empty()) for_each_group_of_calls(group, visit);
    }
  }
}

template <typename Visit>
[[gnu::noinline]] void for_each_group_of_calls(const LaneGroup& group, const Visit& visit) {
  for_each_group(std::span<const std::unique_ptr<Frame>>(group.calls), visit);
}

}  // namespace lynxpp::device::cpu
