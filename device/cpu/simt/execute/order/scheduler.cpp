// Warps, divergence and barriers. Calls are in calls.cpp, meetings of lanes in meetings.cpp.
#include "device/cpu/simt/execute/order/scheduler.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "device/cpu/simt/compile/segment_compiler.h"
#include "device/cpu/simt/execute/memory/object_pool.h"

namespace lynxpp::device::cpu {
namespace {

/// Slice length with modelled time: short, so that a warp runs ahead of the modelled time as little as
/// possible.
constexpr std::int32_t timed_slice_segments = 16;
/// Slices of atomics after which spinning lanes yield to lanes of their warp that have waited throughout.
/// The limit is high because loops that only update memory look the same, and a warp that does not diverge
/// needlessly has the same counts in every run. Once a launch has used locks, it is likely to use more.
constexpr std::uint32_t patient_slices = 512;
constexpr std::uint32_t patient_slices_with_locks = 8;
/// A block that has passed this many barriers probably passes more; with fewer, the fast path does not pay.
constexpr std::uint32_t barriers_before_step = 2;

/// Rounds of a checked block after which asynchronous operations are performed without a wait for them.
constexpr std::uint32_t rounds_until_overdue = 256;

std::uint32_t population(std::uint32_t mask) { return static_cast<std::uint32_t>(std::popcount(mask)); }

/// Most warps kept for later launches, and the most register memory of each.
constexpr std::size_t most_kept_warps = 64;
constexpr std::size_t most_kept_bytes = 64 << 10;

ObjectPool<Warp>& warp_pool() {
  static auto* const all = new ObjectPool<Warp>(most_kept_warps);
  return *all;
}

std::unique_ptr<Warp> take_warp() {
  std::unique_ptr<Warp> warp = warp_pool().take();
  return warp != nullptr ? std::move(warp) : std::make_unique<Warp>();
}

/// Resets the warp to its initial state, but keeps the memory of its frames.
void keep_warp(std::unique_ptr<Warp> warp) {
  std::size_t bytes = 0;
  for (const std::unique_ptr<Frame>& frame : warp->frames) bytes += frame->storage.bytes();
  if (bytes > most_kept_bytes) return;
  auto frames = std::move(warp->frames);
  std::destroy_at(warp.get());
  std::construct_at(warp.get());
  for (const std::unique_ptr<Frame>& frame : frames) frame->storage.clear();
  warp->frames = std::move(frames);
  warp_pool().put(std::move(warp));
}

}  // namespace

BlockRunner::BlockRunner(LaunchState& launch, WorkerCounts* counts)
    : launch_(launch),
      program_(*launch.program),
      counts_(counts),
      ranges_(program_.accesses.size()),
      products_((launch.threads() + warp_size - 1) / warp_size),
      removals_(launch.memory->removals()),
      promoted_after_(program_.compiler->promoted_after()) {
  if (promoted_after_) load_runs();
  const std::uint32_t warps = (launch.threads() + warp_size - 1) / warp_size;
  if (launch.check != nullptr) {
    check_.emplace(*launch.check, warps, [this](const AccessSite& site, const WarpContext& context) {
      const Warp& warp = *warps_[context.warpid];
      // A meeting also runs code of lanes in other frames.
      const bool is_on_top = warp.depth != 0 && context.registers == warp.top().registers;
      return device_stack(program_, site.function, site.line,
                          is_on_top ? calls_of(warp, warp.top()) : std::nullopt);
    });
  }
  for (std::uint32_t i = 0; i < warps; ++i) {
    Warp& warp = *warps_.emplace_back(take_warp());
    warp.context.nwarpid = warps;
    prepare_warp(warp, i);
    if (launch.clock == nullptr) continue;
    warp.recorder.emplace(*launch.steps, *launch.clock, *launch.memory);
    warp.context.recorder = &*warp.recorder;
  }
}

BlockRunner::~BlockRunner() {
  if (promoted_after_) store_runs();
  for (std::unique_ptr<Warp>& warp : warps_) keep_warp(std::move(warp));
}

/// Continues the run counts of earlier launches of the kernel.
void BlockRunner::load_runs() {
  runs_.reserve(program_.segment_count);
  for (const CompiledFunction& function : program_.functions) {
    runs_.resize(function.segment_base);
    for (std::size_t i = 0; function.code && i < function.segments.size(); ++i)
      runs_.push_back(function.code[i].runs.load(std::memory_order_relaxed));
  }
  runs_.resize(program_.segment_count);
}

void BlockRunner::store_runs() const {
  for (const CompiledFunction& function : program_.functions) {
    for (std::size_t i = 0; function.code && i < function.segments.size(); ++i)
      function.code[i].runs.store(runs_[function.segment_base + i], std::memory_order_relaxed);
  }
}

void BlockRunner::forget_ranges() {
  removals_ = launch_.memory->removals();
  std::fill(ranges_.begin(), ranges_.end(), AddressRange{});
  static_cast<void>(found_->of(*launch_.memory));
}

BlockRunner::Turn BlockRunner::run_round() {
  if (is_new_) return begin_block();
  if (in_step_) return run_in_step();
  bool progress = false;
  bool unfinished = false;
  bool waits = true;
  const bool is_scheduled = launch_.schedule() != nullptr;
  const std::uint64_t changes = is_scheduled ? launch_.explored->changes : 0;
  for (std::size_t i = 0; i < warps_.size(); ++i) {
    Warp& warp = *warps_[is_scheduled ? scheduled_index(i) : i];
    if (warp.depth == 0 && !warp.is_new) continue;
    const Turn turn = is_scheduled ? take_scheduled_turn(warp) : take_turn(warp);
    if (turn == Turn::failed || in_step_) return turn;
    progress |= turn != Turn::blocked;
    unfinished |= turn != Turn::finished;
    waits &= turn == Turn::blocked || (turn == Turn::again && warp.spinning_slices > 0);
  }
  if (is_scheduled) end_scheduled_round(changes);
  waiting_rounds_ = waits ? waiting_rounds_ + 1 : 0;
  if (!unfinished) {
    if (check_) check_->finish();
    return Turn::finished;
  }
  if (check_) {
    note_idle_round();
    if (++checked_rounds_ % rounds_until_overdue == 0) check_->perform_overdue();
  }
  if (check_ && seat_ == nullptr && waits_idly_at_objects()) {
    fail_at_object();
    return Turn::failed;
  }
  if (progress || launch_.stops()) return Turn::again;
  if (waits_for_cluster()) return Turn::blocked;
  fail_if_deadlocked();
  return Turn::failed;
}

BlockRunner::Turn BlockRunner::take_turn(Warp& warp) {
  const Turn turn = warp.is_new ? begin_warp(warp) : run_warp(warp);
  if (launch_.explored != nullptr)
    launch_.explored->count(1 + static_cast<std::uint64_t>(warp.slice - warp.context.turn));
  return turn;
}

void BlockRunner::Barrier::note_arrival(std::uint32_t warp, std::size_t warps) {
  if (since_wait.empty()) since_wait.assign(warps, 0);
  if (++since_wait[warp] > std::max(doubled.arrivals, 1u)) doubled = {warp, since_wait[warp]};
}

void BlockRunner::Barrier::note_wait(std::uint32_t warp, const CompiledFunction& in, const Segment& segment) {
  std::fill(since_wait.begin(), since_wait.end(), 0);
  if (at != nullptr) return;
  function = &in;
  at = &segment;
  first_warp = warp;
}

std::uint32_t BlockRunner::line() const {
  for (const std::unique_ptr<Warp>& warp : warps_) {
    if (warp->depth == 0 || warp->top().groups.empty()) continue;
    const std::uint32_t segment = warp->top().groups.back().pc;
    if (segment != no_segment) return warp->top().function->segments[segment].line;
  }
  return 0;
}

BlockRunner::Turn BlockRunner::run_slice(std::uint32_t index, double cycles, models::clock::Steps& steps) {
  Warp& warp = *warps_[index];
  if (warp.is_new) enter_kernel(warp);
  if (warp.depth == 0) return Turn::finished;
  const models::Timing& timing = *launch_.clock->device.machine().timing;
  warp.context.modelled_cycles = static_cast<std::uint64_t>(cycles);
  warp.context.modelled_ns =
      launch_.clock->begin_ns + static_cast<std::uint64_t>(cycles * 1000 / timing.core_mhz);
  warp.recorder->begin_slice(steps);
  return run_warp(warp);
}

inline std::uint32_t BlockRunner::run_segment(const CompiledFunction& function, std::uint32_t segment,
                                              WarpContext& context, std::uint32_t mask) {
  const SegmentCode& code = function.code[segment];
  if (promoted_after_ && code.compiled.load(std::memory_order_relaxed) == nullptr &&
      ++runs_[function.segment_base + segment] % *promoted_after_ == 0)
    program_.compiler->promote(static_cast<std::uint32_t>(&function - program_.functions.data()), segment);
  return code.run(&context, mask);
}

/// Looks up frame, function and segment once, because every lookup depends on the previous one.
inline BlockRunner::Turn BlockRunner::step(Warp& warp) {
  if (failure_) return Turn::failed;
  Frame& frame = warp.top();
  LaneGroup& group = frame.groups.back();
  const CompiledFunction& function = *frame.function;
  const Segment* segment = &function.segments[group.pc];
  WarpContext& context = warp.context;
  const std::uint32_t mask = group.mask;
  if (segment->may_spin) context.spun = 1;
  if (segment->split_form != no_segment && (mask != warp.live || segment->always_split)) {
    group.pc = segment->split_form;
    segment = &function.segments[group.pc];
  }
  const std::uint32_t pc = group.pc;
  context.live = warp.live;
  show(context, group, frame);
  if (warp.recorder) warp.recorder->begin_segment(function, *segment);
  const std::uint32_t taken = run_segment(function, pc, context, mask);
  return continue_after(warp, frame, pc, taken);
}

/// Returns the spinning slices after which other lanes of the warp get a turn.
std::uint32_t BlockRunner::patience_of(std::int32_t slice) const {
  if (launch_.schedule() != nullptr) return patient_slices_with_locks;
  const bool has_locks = launch_.spins.load(std::memory_order_relaxed);
  const std::uint32_t patience = has_locks ? patient_slices_with_locks : patient_slices;
  return patience * static_cast<std::uint32_t>(slice_segments / slice);
}

/// Runs one slice.
BlockRunner::Turn BlockRunner::run_warp(Warp& warp) {
  const std::int32_t slice = warp.recorder ? timed_slice_segments : warp.slice;
  bool spins = false;
  bool moved = false;
  bool lanes_wait = true;  // true if lanes have waited for others of the warp all the time
  warp.context.spun = 0;
  warp.context.awaited = {};
  for (warp.context.turn = slice; warp.context.turn > 0; --warp.context.turn) {
    if (!is_settled(warp) && !settle(warp)) {
      complete_barriers();
      return Turn::finished;
    }
    lanes_wait = lanes_wait && warp.has_waiting_lanes();
    const LaneGroup& group = warp.top().groups.back();
    if (group.wait != LaneGroup::Wait::none) {
      const bool meets = group.wait == LaneGroup::Wait::meeting;
      if (give_way(warp, meets ? Preference::nearest : Preference::farthest)) continue;
      return moved ? Turn::again : Turn::blocked;
    }
    // A clock must reflect all earlier steps, so those are timed first.
    if (warp.recorder && warp.top().function->segments[group.pc].reads_clock && warp.recorder->has_steps())
      return Turn::again;
    moved = true;
    const bool is_preempted = warp.accesses_left != 0 && warp.top().function->segments[group.pc].may_spin &&
                              --warp.accesses_left == 0;
    if (step(warp) == Turn::failed) return Turn::failed;
    if (is_preempted) warp.context.yields = 0;
    if (in_step_ || is_preempted) return Turn::again;
    if (warp.context.yields == 0) {
      if (warp.is_converged() && warp.top().groups.back().wait != LaneGroup::Wait::none) return Turn::again;
      continue;
    }
    warp.context.yields = 0;
    spins = true;
    break;
  }
  spins |= warp.context.spun != 0;
  warp.spinning_slices = spins ? warp.spinning_slices + 1 : 0;
  warp.waited_slices = spins && lanes_wait ? warp.waited_slices + 1 : 0;
  if (warp.waited_slices <= patience_of(slice)) return Turn::again;
  // Lanes that have just returned move to their caller before others run; otherwise a finished call would
  // look like one in which all lanes wait.
  if (!is_settled(warp) && !settle(warp)) {
    complete_barriers();
    return Turn::finished;
  }
  if (give_way(warp, Preference::farthest)) launch_.spins.store(true, std::memory_order_relaxed);
  return Turn::again;
}

bool BlockRunner::settle(Warp& warp) {
  while (warp.depth > 0) {
    Frame& frame = warp.top();
    while (!frame.groups.empty()) {
      const LaneGroup& group = frame.groups.back();
      if (!group.calls.empty()) break;
      if (group.mask != 0 && group.pc == no_segment) {  // falling off the end returns
        return_lanes(warp, group.mask);
      }
      if (group.mask != 0 && group.pc != group.reconvergence) break;
      frame.groups.pop_back();
    }
    if (!frame.groups.empty()) {
      LaneGroup& group = frame.groups.back();
      if (!group.calls.empty()) {
        resume_calls(warp);
        continue;
      }
      if (!group.calls_indirectly) return true;
      // step() reports the failure.
      if (!call_target(warp, frame.function->segments[group.pc])) return true;
      continue;
    }
    pop_frame(warp);
  }
  return false;
}

/// Continues after the warp has run code from `pc` on in its frame.
BlockRunner::Turn BlockRunner::continue_after(Warp& warp, Frame& frame, std::uint32_t pc,
                                              std::uint32_t taken) {
  const CompiledFunction& function = *frame.function;
  LaneGroup& group = frame.groups.back();
  const WarpContext& context = warp.context;
  if (check_) note_visit(warp, function, pc);
  if (frame.top != context.stack_top) frame.top = context.stack_top;
  group.pc = context.segment;
  const Segment& segment = function.segments[context.segment];
  if (warp.recorder) warp.recorder->end_segment(segment);
  const bool waits_again = segment.waits && context.yields != 0;
  if (waits_again) {
    group.pc = context.segment;
    return Turn::again;
  }
  if (counts_ != nullptr) {
    SegmentCounts& counts = counts_->segments[function.segment_base + pc];
    ++counts.warps;
    counts.lanes += population(group.mask);
  }
  if (context.fault.kind != FaultKind::none && !skip_access(warp))
    return check_fault(warp) ? Turn::again : Turn::failed;
  return apply_control(warp, frame, segment, taken) ? Turn::again : Turn::failed;
}

void BlockRunner::count_divergence(const Frame& frame, const Segment& segment) {
  if (counts_ != nullptr) ++counts_->sites[frame.function->site_base + segment.end - 1].divergent;
}

/// Applies the control flow of a segment's last instruction to the warp. Returns false if the launch failed.
bool BlockRunner::apply_control(Warp& warp, Frame& frame, const Segment& segment, std::uint32_t taken) {
  LaneGroup& group = frame.groups.back();
  switch (segment.control) {
    case Control::next: group.pc = segment.next; return true;
    case Control::branch: branch(warp, segment, taken); return true;
    case Control::indexed_branch: return indexed_branch(warp, segment, taken);
    case Control::ret:
      warp.exit = &segment;
      group.pc = segment.next;
      return_lanes(warp, taken);
      return true;
    case Control::exit:
      warp.exit = &segment;
      group.pc = segment.next;
      exit_lanes(warp, taken);
      return true;
    case Control::trap:
      group.pc = segment.next;
      return taken == 0 || fail_at(warp, segment, taken, "the kernel executed trap");
    case Control::call: return call(warp, segment, taken);
    case Control::barrier: return arrive(warp, segment, taken);
    case Control::meeting: return meet(warp, segment, taken);
  }
  return true;
}

bool BlockRunner::runs_other_side_first(const Warp& warp) const {
  return launch_.schedule() != nullptr &&
         launch_.schedule()->choose(ChoiceKind::side, {number_, warp.context.warpid}, 2) == 1;
}

void BlockRunner::branch(Warp& warp, const Segment& segment, std::uint32_t taken) {
  Frame& frame = warp.top();
  LaneGroup& group = frame.groups.back();
  if (taken == group.mask || segment.target == segment.next) {
    group.pc = segment.target;
  } else if (taken == 0) {
    group.pc = segment.next;
  } else {
    count_divergence(frame, segment);
    LaneGroup sides[2] = {{.pc = segment.next, .mask = group.mask & ~taken},
                          {.pc = segment.target, .mask = taken}};
    if (runs_other_side_first(warp)) std::swap(sides[0], sides[1]);
    diverge(frame, segment.reconvergence, sides);
  }
}

/// Splits the top group into `sides`. The group stays as the reconvergence point, unless the group below
/// already has the same one.
void BlockRunner::diverge(Frame& frame, std::uint32_t reconvergence, std::span<LaneGroup> sides) {
  LaneGroup& group = frame.groups.back();
  if (reconvergence == no_segment || reconvergence == group.reconvergence) {
    reconvergence = group.reconvergence;
    frame.groups.pop_back();
  } else {
    group.pc = reconvergence;
  }
  for (LaneGroup& side : sides) {
    side.reconvergence = reconvergence;
    // A side that is already at the reconvergence point waits in the group below.
    if (side.pc == no_segment || side.pc != reconvergence) frame.groups.push_back(std::move(side));
  }
}

bool BlockRunner::indexed_branch(Warp& warp, const Segment& segment, std::uint32_t taken) {
  Frame& frame = warp.top();
  std::vector<LaneGroup> sides;
  const auto side = [&sides](std::uint32_t pc) -> LaneGroup& {
    for (LaneGroup& known : sides) {
      if (known.pc == pc) return known;
    }
    return sides.emplace_back(LaneGroup{.pc = pc});
  };
  const std::uint32_t mask = frame.groups.back().mask;
  for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    std::uint32_t pc = segment.next;
    if ((taken >> lane & 1) != 0) {
      const std::uint64_t index = warp.context.operand[lane];
      if (index >= segment.targets.size())
        return fail("brx.idx with an index past the end of its target list", segment.line);
      pc = segment.targets[index];
    }
    side(pc).mask |= 1u << lane;
  }
  if (sides.size() == 1) {
    frame.groups.back().pc = sides[0].pc;
  } else {
    count_divergence(frame, segment);
    if (runs_other_side_first(warp)) std::ranges::reverse(sides);
    diverge(frame, segment.reconvergence, sides);
  }
  return true;
}

/// Returning from the kernel exits.
void BlockRunner::return_lanes(Warp& warp, std::uint32_t lanes) {
  if (warp.top().call == nullptr) return exit_lanes(warp, lanes);
  for (LaneGroup& group : warp.top().groups) group.mask &= ~lanes;
}

void BlockRunner::exit_lanes(Warp& warp, std::uint32_t lanes) {
  if (lanes == 0) return;
  if (launch_.explored != nullptr) ++launch_.explored->changes;
  if (warp.live != 0 && (warp.live & ~lanes) == 0) {
    --live_warps_;
    if (ProductProgress& own = products_[warp.context.warpid]; own.issued != 0) own.issued = ~0u;
  }
  warp.live &= ~lanes;
  for_each_group(warp.used_frames(), [lanes](Frame&, LaneGroup& group) { group.mask &= ~lanes; });
  complete_barriers();
  complete_meetings(warp);
  if (meets_cluster_) complete_cluster_barrier();
}

// ---------------------------------------------------------------- barriers

bool BlockRunner::arrive(Warp& warp, const Segment& segment, std::uint32_t lanes) {
  LaneGroup& group = warp.top().groups.back();
  group.pc = segment.next;
  if (lanes == 0) return true;
  if (launch_.explored != nullptr) ++launch_.explored->changes;
  if (segment.barrier == BarrierKind::cluster_arrive || segment.barrier == BarrierKind::cluster_wait) {
    meet_cluster(warp, group, segment.barrier, lanes);
    return true;
  }
  const std::uint32_t id = warp.context.barrier_id;
  const std::uint32_t threads = warp.context.barrier_threads;
  if (id >= barrier_count) return fail("barrier " + std::to_string(id) + " does not exist", segment.line);
  if (threads % warp_size != 0) {
    return fail("a barrier for " + std::to_string(threads) + " threads, which is not a multiple of 32",
                segment.line);
  }
  Barrier& barrier = barriers_[id];
  if (barrier.open && barrier.threads != threads) {
    return fail("warps arrive at barrier " + std::to_string(id) + " with different thread counts",
                segment.line);
  }
  if (check_) {
    check_arrival(warp, segment, lanes);
    check_->arrive(id, warp.context.warpid);
  }
  if (!barrier.open) ++open_barriers_;
  if (barrier.arrived.empty()) barrier.arrived.assign(warps_.size(), 0);
  barrier.open = true;
  barrier.threads = threads;
  std::uint32_t& arrived = barrier.arrived[warp.context.warpid];
  const bool is_there = arrived != 0 && (warp.live & ~arrived) == 0;
  if (is_there) ++barrier.more;  // counts as an additional warp
  if (arrived == 0 || is_there) ++barrier.warps;
  arrived |= lanes;
  if (segment.barrier >= BarrierKind::reduce_popc) {
    barrier.count += population(warp.context.barrier_predicate & lanes);
    barrier.total += population(lanes);
  }
  if (segment.barrier == BarrierKind::arrive) {
    barrier.note_arrival(warp.context.warpid, warps_.size());
    has_arrivals_ = true;
  } else {
    barrier.note_wait(warp.context.warpid, *warp.top().function, segment);
    group.wait = LaneGroup::Wait::barrier;
    group.barrier = id;
    group.barrier_result = static_cast<std::uint32_t>(segment.barrier);
  }
  complete(barrier, id);
  return true;
}

void BlockRunner::complete_barriers() {
  if (open_barriers_ == 0) return;
  for (std::uint32_t id = 0; id < barrier_count; ++id) {
    if (barriers_[id].open) complete(barriers_[id], id);
  }
}

/// Records the arrival once per barrier phase.
void BlockRunner::record_arrival(Warp& warp, Barrier& barrier, std::uint32_t id) {
  const std::uint32_t bit = 1u << warp.context.warpid;
  if (!warp.recorder || (barrier.recorded & bit) != 0) return;
  barrier.recorded |= bit;
  bool waits = false;
  for_each_group(warp.used_frames(), [&](Frame&, LaneGroup& group) {
    waits |= group.wait == LaneGroup::Wait::barrier && group.barrier == id;
  });
  warp.recorder->barrier(id, barrier.threads / warp_size, waits);
}

/// Completes the barrier if all expected warps have arrived. A warp has arrived once all its live lanes have;
/// it then counts as 32 threads.
bool BlockRunner::complete(Barrier& barrier, std::uint32_t id) {
  const std::uint32_t expected = barrier.threads != 0 ? barrier.threads : live_warps_ * warp_size;
  if (barrier.warps * warp_size < expected) return false;
  std::uint32_t arrived = barrier.more * warp_size;
  std::uint32_t live = 0;
  for (std::size_t i = 0; i < warps_.size(); ++i) {
    const std::uint32_t lanes = warps_[i]->live;
    live += lanes != 0 ? warp_size : 0;
    if (barrier.arrived[i] == 0 || (lanes & ~barrier.arrived[i]) != 0) continue;
    arrived += warp_size;
    if (lanes != 0) record_arrival(*warps_[i], barrier, id);
  }
  if (arrived < (barrier.threads != 0 ? barrier.threads : live)) return false;
  for (const std::unique_ptr<Warp>& warp : warps_) {
    for_each_group(warp->used_frames(), [&](Frame&, LaneGroup& group) {
      if (group.wait != LaneGroup::Wait::barrier || group.barrier != id) return;
      group.wait = LaneGroup::Wait::none;
      if (check_) check_->leave(id, warp->context.warpid);
      const auto kind = static_cast<BarrierKind>(group.barrier_result);
      group.barrier_result = kind == BarrierKind::reduce_popc  ? barrier.count
                             : kind == BarrierKind::reduce_and ? (barrier.count == barrier.total ? ~0u : 0u)
                                                               : (barrier.count != 0 ? ~0u : 0u);
    });
  }
  if (check_) {
    check_skipped(barrier, id);
    check_->close(id);
  }
  barrier.open = false;
  --open_barriers_;
  barrier.count = barrier.total = 0;
  barrier.warps = 0;
  barrier.more = 0;
  barrier.at = nullptr;
  barrier.recorded = 0;
  std::fill(barrier.arrived.begin(), barrier.arrived.end(), 0);
  in_step_ = ++completed_barriers_ > barriers_before_step && warps_are_in_step();
  return true;
}

// ---------------------------------------------------------------- failures

bool BlockRunner::fail(std::string message, std::uint32_t line) {
  if (!failure_) {
    message = "kernel '" + program_.functions[0].name + "': " + std::move(message);
    failure_ = line == 0 ? failure(std::move(message))
                         : failure_at(ptx_location(launch_.name, line), std::move(message));
  }
  return false;
}

}  // namespace lynxpp::device::cpu
