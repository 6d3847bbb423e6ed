// Checks of a block's barriers in checked launches: barriers that a partial warp reaches or a warp skips.
#include <algorithm>
#include <bit>
#include <string>

#include "device/cpu/simt/execute/order/scheduler.h"

namespace lynxpp::device::cpu {
namespace {

/// True for operations that other threads can observe. An exiting thread performs none.
bool has_effect(const ptx::OpcodeTraits& traits) {
  if (traits.writes_memory) return traits.space != ptx::StateSpace::param;
  return traits.kind == ptx::OpcodeClass::barrier || traits.kind == ptx::OpcodeClass::call;
}

}  // namespace

// ---------------------------------------------------------------- partial arrivals

/// Returns the lanes that are about to exit after leaving a branch early; nothing waits for them.
std::uint32_t BlockRunner::leaving_lanes(const Warp& warp) const {
  std::uint32_t seen = 0;
  std::uint32_t leaving = 0;
  for (std::uint32_t level = warp.depth; level-- > 0;) {
    const Frame& frame = *warp.frames[level];
    for (auto group = frame.groups.rbegin(); group != frame.groups.rend(); ++group) {
      const std::uint32_t own = group->mask & ~seen;
      seen |= group->mask;
      const Segment* const at = group->pc != no_segment ? &frame.function->segments[group->pc] : nullptr;
      const bool waits = group->wait != LaneGroup::Wait::none;
      const bool exits = at == nullptr || at->control == Control::exit || at->control == Control::ret;
      const bool does_nothing_else = at == nullptr || at->end - at->begin == 1;
      if (frame.call == nullptr && exits && does_nothing_else && !waits) leaving |= own;
    }
  }
  return leaving;
}

/// Reports `bar.sync` and other aligned barriers that a partial warp executes.
void BlockRunner::check_arrival(const Warp& warp, const Segment& segment, std::uint32_t lanes) {
  const CompiledFunction& function = *warp.top().function;
  const ptx::Instruction& at = function.function->body->instructions[segment.end - 1];
  const bool is_aligned = at.op() == ptx::Op::bar || at.has(ptx::Modifier::aligned);
  if (!launch_.check->selection().sync || !is_aligned) return;
  if ((warp.live & ~lanes & ~leaving_lanes(warp)) == 0) return;
  launch_.check->add_finding(FindingKind::divergent_barrier, place_at(warp, warp.top(), segment, lanes),
                             std::to_string(std::popcount(lanes)) + " of the warp's " +
                                 std::to_string(std::popcount(warp.live)) +
                                 " lanes are at the barrier, the others elsewhere");
}

// ---------------------------------------------------------------- skipped barriers

void BlockRunner::note_visit(const Warp& warp, const CompiledFunction& function, std::uint32_t segment) {
  visits_[warp.context.warpid * std::size_t{program_.segment_count} + function.segment_base + segment] = true;
}

/// Returns the first work that the warp did after a barrier it skipped: on the paths after the point where
/// those with and without the barrier reconverge. Returns null if the warp only exited.
const ptx::Instruction* BlockRunner::find_work_after(const CompiledFunction& function, const Segment& barrier,
                                                     std::uint32_t warp) const {
  const std::vector<Segment>& segments = function.segments;
  const std::size_t base = warp * std::size_t{program_.segment_count} + function.segment_base;
  for (std::uint32_t first = barrier.reconvergence; first != no_segment;
       first = segments[first].reconvergence) {
    for (std::uint32_t i = first; i < segments.size() && segments[i].block == segments[first].block; ++i) {
      if (!visits_[base + i]) continue;
      for (std::uint32_t at = segments[i].begin; at < segments[i].end; ++at) {
        const ptx::Instruction& instruction = function.function->body->instructions[at];
        if (has_effect(instruction.traits)) return &instruction;
      }
    }
  }
  return nullptr;
}

/// A barrier does not wait for exited threads, so it completes without a warp that has skipped it.
/// An early exit is legal; continuing as if the barrier had been passed is not.
void BlockRunner::check_skipped(const Barrier& barrier, std::uint32_t id) {
  if (barrier.at == nullptr || barrier.threads != 0 || !launch_.check->selection().sync) return;
  for (std::uint32_t i = 0; i < warps_.size(); ++i) {
    if (warps_[i]->live != 0 || barrier.arrived[i] != 0) continue;
    const ptx::Instruction* const after = find_work_after(*barrier.function, *barrier.at, i);
    if (after == nullptr) continue;
    FindingPlace other;
    other.action = "warp " + std::to_string(i) + " of the block continues without it";
    other.has_thread = false;
    other.function = barrier.function->name;
    other.line = after->line;
    const ptx::Instruction& at = barrier.function->function->body->instructions[barrier.at->end - 1];
    if (!barrier.at->source_file.empty() && after->source_file == at.source_file) {
      other.source_file = barrier.at->source_file;
      other.source_line = after->source_line;
    }
    const Warp& waiting = *warps_[barrier.first_warp];
    std::string detail = "barrier " + std::to_string(id) + " completed because warp " + std::to_string(i) +
                         " had exited; all threads that continue must reach it";
    launch_.check
        ->add_finding(FindingKind::skipped_barrier,
                      place_at(waiting, *barrier.function, *barrier.at, waiting.live != 0 ? waiting.live : 1,
                               std::nullopt),
                      std::move(detail))
        .other = std::move(other);
  }
}

}  // namespace lynxpp::device::cpu
