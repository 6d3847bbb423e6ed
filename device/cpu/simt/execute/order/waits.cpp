// Describes what the warps of a block wait for, in launches that deadlock or run for long.
#include <algorithm>
#include <bit>

#include "device/cpu/simt/execute/faults.h"
#include "device/cpu/simt/execute/order/scheduler.h"
#include "device/cpu/simt/operations/barrier_objects.h"
#include "support/text.h"

namespace lynxpp::device::cpu {
namespace {

using Wait = LaneGroup::Wait;

/// Most groups of warps that are listed individually.
constexpr std::size_t most_listed = 6;
/// Rounds without arrivals in which the warps of a checked block only query mbarrier objects. A loop that
/// stops querying after more rounds would be mistaken for a deadlock.
constexpr std::uint32_t most_idle_rounds = 1 << 16;

std::string triple(const std::uint32_t (&values)[3]) {
  return "(" + std::to_string(values[0]) + ", " + std::to_string(values[1]) + ", " +
         std::to_string(values[2]) + ")";
}

std::string name_of_line(std::string_view file, std::uint32_t source_line, std::uint32_t line) {
  if (file.empty()) return "PTX line " + std::to_string(line);
  return std::string(file) + ":" + std::to_string(source_line);
}

std::string name_of_line(const Segment& segment) {
  return name_of_line(segment.source_file, segment.source_line, segment.line);
}

/// Returns the segment at whose end, or in which, the group waits.
const Segment& segment_of(const Frame& frame, const LaneGroup& group) {
  return frame.function->segments[group.wait == Wait::meeting ? group.pc : group.pc - 1];
}

std::string_view opcode_of(const CompiledFunction& function, const Segment& segment) {
  return function.function->body->instructions[segment.end - 1].opcode;
}

std::string times(std::uint32_t count) { return count == 2 ? "twice" : std::to_string(count) + " times"; }

/// Merges adjacent warps with the same text: "warp 0 has exited; warps 1 to 3 wait at barrier 1, tile.cu:12".
class WarpTexts {
 public:
  void add(std::uint32_t warp, std::string one, std::string many) {
    if (!all_.empty() && all_.back().one == one && all_.back().last + 1 == warp) {
      all_.back().last = warp;
    } else {
      all_.push_back({warp, warp, std::move(one), std::move(many)});
    }
  }
  std::string text() const {
    std::string text;
    for (std::size_t i = 0; i < std::min(all_.size(), most_listed); ++i) {
      const Entry& each = all_[i];
      text += text.empty() ? "" : "; ";
      text += each.first == each.last ? "warp " + std::to_string(each.first) + " " + each.one
                                      : "warps " + std::to_string(each.first) + " to " +
                                            std::to_string(each.last) + " " + each.many;
    }
    return text + (all_.size() > most_listed ? "; …" : "");
  }

 private:
  struct Entry {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::string one;
    std::string many;
  };
  std::vector<Entry> all_;
};

}  // namespace

/// Returns the calls in progress in a frame; nullopt if they are interrupted.
ActiveCalls BlockRunner::calls_of(const Warp& warp, const Frame& frame) {
  std::vector<ActiveCall> calls;
  bool is_inside = false;
  for (std::uint32_t level = warp.depth; level-- > 0;) {
    const Frame& each = *warp.frames[level];
    is_inside = is_inside || &each == &frame;
    if (is_inside && level > 0)
      calls.push_back({each.function, warp.frames[level - 1]->function, each.call->line});
  }
  return is_inside ? ActiveCalls(std::move(calls)) : ActiveCalls();
}

FindingPlace BlockRunner::place_at(const Warp& warp, const Frame& frame, const Segment& segment,
                                   std::uint32_t lanes) const {
  return place_at(warp, *frame.function, segment, lanes, calls_of(warp, frame));
}

FindingPlace BlockRunner::place_at(const Warp& warp, const CompiledFunction& function, const Segment& segment,
                                   std::uint32_t lanes, const ActiveCalls& calls) const {
  const std::string_view opcode = opcode_of(function, segment);
  FindingPlace place{"'" + std::string(opcode) + "'",  function.name,      std::string(opcode), segment.line,
                     std::string(segment.source_file), segment.source_line};
  const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes)) % warp_size;
  for (int axis = 0; axis < 3; ++axis) {
    place.block[axis] = index_[axis];
    place.thread[axis] = warp.context.tid[axis][lane];
  }
  place.stack = device_stack(program_, function.name, segment.line, calls);
  return place;
}

/// Returns "the mbarrier at shared array 'full' + 8, tile.cu:12 (1 of 2 arrivals and 0 bytes are missing)".
std::string BlockRunner::name_of_awaited(const WarpContext& context) const {
  const AwaitedObject& awaited = context.awaited;
  const std::uint64_t address = reinterpret_cast<std::uintptr_t>(awaited.object);
  const std::uint64_t offset = address - reinterpret_cast<std::uintptr_t>(context.shared);
  std::string text = "the mbarrier at ";
  if (offset < context.shared_bytes) {
    text += name_of_shared(program_.shared, offset);
  } else {
    text += hexadecimal(address);
  }
  const AccessSite& site = *awaited.site;
  return text + ", " + name_of_line(site.source_file, site.source_line, site.line) + " (" +
         missing_at(awaited.object) + ")";
}

/// Appends the wait of a warp that has not exited.
void BlockRunner::add_wait(const Warp& warp, std::string& one, std::string& many) const {
  for_each_group(warp.used_frames(), [&](const Frame& frame, const LaneGroup& group) {
    if (group.wait == Wait::none || !one.empty()) return;
    std::string where = "barrier.cluster";
    if (group.wait == Wait::barrier) where = "barrier " + std::to_string(group.barrier);
    const Segment& segment = segment_of(frame, group);
    if (group.wait == Wait::meeting) where = "'" + std::string(opcode_of(*frame.function, segment)) + "'";
    where += ", " + name_of_line(segment);
    one = "waits at " + where;
    many = "wait at " + where;
  });
  if (!one.empty()) return;
  if (warp.context.awaited.site != nullptr) {
    const std::string where = name_of_awaited(warp.context);
    one = "waits at " + where;
    many = "wait at " + where;
  } else if (warp.depth != 0 && !warp.top().groups.empty() && warp.top().groups.back().pc != no_segment) {
    const std::string where = name_of_line(warp.top().function->segments[warp.top().groups.back().pc]);
    one = "is at " + where;
    many = "are at " + where;
  }
}

std::string BlockRunner::describe_waits() const {
  WarpTexts texts;
  for (std::uint32_t i = 0; i < warps_.size(); ++i) {
    const Warp& warp = *warps_[i];
    std::string one;
    std::string many;
    if (warp.is_new) {
      one = "has not started";
      many = "have not started";
    } else if (warp.live == 0) {
      const std::string where = warp.exit != nullptr ? " at " + name_of_line(*warp.exit) : "";
      one = "has exited" + where;
      many = "have exited" + where;
    } else {
      add_wait(warp, one, many);
    }
    texts.add(i, std::move(one), std::move(many));
  }
  return texts.text();
}

/// Describes the waits of all blocks of the cluster.
std::string BlockRunner::describe_cluster_waits() const {
  std::string text = describe_waits();
  for (const BlockRunner* const member : cluster_members()) {
    if (member != this) text += "; in block " + triple(member->index_) + " " + member->describe_waits();
  }
  return text;
}

bool BlockRunner::fail_waiting(FindingPlace place, std::string message) {
  const std::uint32_t line = place.line;
  if (check_ && launch_.check->selection().sync)
    launch_.check->add_finding(FindingKind::endless_barrier, std::move(place), message);
  return fail(std::move(message), line);
}

/// Fails if all warps of the block wait, and at least one of them at a barrier of the block.
bool BlockRunner::fail_at_barrier() {
  for (const std::unique_ptr<Warp>& warp : warps_) {
    const Frame* waiting = nullptr;
    const LaneGroup* group = nullptr;
    for_each_group(warp->used_frames(), [&](const Frame& frame, const LaneGroup& each) {
      if (each.wait != Wait::barrier || group != nullptr) return;
      waiting = &frame;
      group = &each;
    });
    if (group == nullptr) continue;
    const Barrier& barrier = barriers_[group->barrier];
    const Segment& segment = segment_of(*waiting, *group);
    std::uint32_t arrived = barrier.more * warp_size;
    for (std::size_t i = 0; i < warps_.size(); ++i) {
      const bool is_there = barrier.arrived[i] != 0 && (warps_[i]->live & ~barrier.arrived[i]) == 0;
      arrived += is_there ? warp_size : 0;
    }
    std::string message = "warp " + std::to_string(warp->context.warpid) + " of block " + triple(index_) +
                          " waits forever at barrier " + std::to_string(group->barrier) + ", " +
                          name_of_line(segment) + ": " + std::to_string(arrived) + " of " +
                          std::to_string(barrier.threads != 0 ? barrier.threads : live_warps_ * warp_size) +
                          " threads have arrived";
    if (barrier.doubled.arrivals > 1) {
      message += "; warp " + std::to_string(barrier.doubled.warp) + " arrived " +
                 times(barrier.doubled.arrivals) + " between two waits";
    }
    return fail_waiting(place_at(*warp, *waiting, segment, group->mask), message + "; " + describe_waits());
  }
  return fail("no warp of the block can continue: " + describe_waits());
}

void BlockRunner::fail_waiting_for_cluster() {
  FindingPlace place;
  place.action = "threads wait forever";
  place.has_thread = false;
  place.function = program_.functions[0].name;
  place.line = line();
  std::copy(std::begin(index_), std::end(index_), place.block);
  fail_waiting(std::move(place),
               "barrier.cluster can never complete: threads of the cluster that have not arrived wait for "
               "something else; in block " +
                   triple(index_) + " " + describe_waits());
}

/// Counts the rounds in which the block's warps only wait at mbarrier objects, or for warps that do. Only in
/// checked launches, which see every access.
void BlockRunner::note_idle_round() {
  const std::uint64_t accesses = check_->accesses();
  bool is_idle = accesses == accesses_before_;
  accesses_before_ = accesses;
  for (const std::unique_ptr<Warp>& warp : warps_) {
    if (!is_idle || warp->depth == 0) continue;
    bool waits = warp->context.awaited.site != nullptr;
    for_each_group(warp->used_frames(),
                   [&](const Frame&, const LaneGroup& group) { waits |= group.wait != Wait::none; });
    is_idle = waits;
  }
  idle_rounds_ = is_idle ? idle_rounds_ + 1 : 0;
}

bool BlockRunner::waits_idly_at_objects() const { return idle_rounds_ >= most_idle_rounds; }

bool BlockRunner::fail_at_object() {
  for (const std::unique_ptr<Warp>& warp : warps_) {
    const AwaitedObject& awaited = warp->context.awaited;
    if (warp->depth == 0 || awaited.site == nullptr) continue;
    const AccessSite& site = *awaited.site;
    FindingPlace place{"'" + std::string(site.opcode) + "'",
                       std::string(site.function),
                       std::string(site.opcode),
                       site.line,
                       std::string(site.source_file),
                       site.source_line};
    for (int axis = 0; axis < 3; ++axis) {
      place.block[axis] = index_[axis];
      place.thread[axis] = warp->context.tid[axis][0];
    }
    const std::string arrivals = check_->describe_arrivals(awaited.object);
    return fail_waiting(std::move(place), "warp " + std::to_string(warp->context.warpid) + " of block " +
                                              triple(index_) + " waits forever at " +
                                              name_of_awaited(warp->context) + "; " + arrivals +
                                              (arrivals.empty() ? "" : "; ") + describe_cluster_waits());
  }
  return fail("no warp of the block can continue: " + describe_cluster_waits());
}

}  // namespace lynxpp::device::cpu
