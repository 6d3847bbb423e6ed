// Call frames of a warp.
#include <algorithm>
#include <bit>
#include <cstring>

#include "device/cpu/simt/execute/builtins.h"
#include "device/cpu/simt/execute/faults.h"
#include "device/cpu/simt/execute/order/scheduler.h"
#include "device/cpu/simt/lanes/lane_loop.h"

namespace lynxpp::device::cpu {
namespace {

/// Returns the host address of a slot's value in one lane; null for immediates and predicates.
std::byte* slot_address(const Warp& warp, const Frame& frame, const CallSlot& slot, std::uint32_t lane) {
  if (slot.kind == CallSlot::Kind::local) {
    return warp.context.local + lane * warp.context.local_stride + frame.local + slot.offset;
  }
  if (slot.kind == CallSlot::Kind::reg && !slot.predicate) {
    return frame.registers + slot.offset + std::size_t{lane} * slot.bytes;
  }
  return nullptr;
}

std::uint64_t read_scalar(const Warp& warp, const Frame& frame, const CallSlot& slot, std::uint32_t lane) {
  if (slot.kind == CallSlot::Kind::immediate) return slot.immediate;
  std::uint64_t value = 0;
  if (slot.predicate) {
    std::uint32_t mask = 0;
    std::memcpy(&mask, frame.registers + slot.offset, sizeof(mask));
    return mask >> lane & 1;
  }
  std::memcpy(&value, slot_address(warp, frame, slot, lane),
              std::min<std::size_t>(slot.bytes, sizeof(value)));
  return value;
}

void write_scalar(const Warp& warp, const Frame& frame, const CallSlot& slot, std::uint32_t lane,
                  std::uint64_t value) {
  if (slot.kind == CallSlot::Kind::immediate) return;
  if (slot.predicate) {
    std::uint32_t mask = 0;
    std::memcpy(&mask, frame.registers + slot.offset, sizeof(mask));
    mask = (mask & ~(1u << lane)) | static_cast<std::uint32_t>(value & 1) << lane;
    std::memcpy(frame.registers + slot.offset, &mask, sizeof(mask));
    return;
  }
  std::memcpy(slot_address(warp, frame, slot, lane), &value,
              std::min<std::size_t>(slot.bytes, sizeof(value)));
}

/// Returns the reason why a launch that calls the function cannot be run again; null if it can.
const char* obstacle_to_repetition(Builtin called) {
  switch (called) {
    case Builtin::malloc:
    case Builtin::free:
    case Builtin::device_malloc:
    case Builtin::device_free: return "the kernel calls malloc or free";
    case Builtin::launch_parameters:
    case Builtin::device_launch: return "the kernel launches kernels";
    default: return nullptr;
  }
}

}  // namespace

/// Copies arrays as bytes and everything else as one value.
void BlockRunner::copy_slot(Warp& warp, std::uint32_t lanes, const Frame& from, const CallSlot& source,
                            const Frame& to, const CallSlot& target) {
  for_each_lane(lanes, [&](std::uint32_t lane) {
    if (source.bytes <= sizeof(std::uint64_t) || target.bytes <= sizeof(std::uint64_t)) {
      return write_scalar(warp, to, target, lane, read_scalar(warp, from, source, lane));
    }
    std::memcpy(slot_address(warp, to, target, lane), slot_address(warp, from, source, lane),
                std::min(source.bytes, target.bytes));
  });
}

bool BlockRunner::push_frame(Warp& warp, const CompiledFunction& callee, const Segment& segment,
                             std::uint32_t lanes) {
  const bool is_kernel = warp.depth == 0;
  const std::uint64_t local = is_kernel ? 0 : warp.top().top;
  if (local + callee.frame->bytes() > launch_.local_bytes) {
    return fail_at(warp, segment, lanes,
                   "illegal address: stack overflow: calls nest deeper than the " +
                       std::to_string(launch_.local_bytes) +
                       " bytes of local memory of a thread allow (cudaLimitStackSize)");
  }
  // Limits recursion of functions without local variables, which use no stack.
  constexpr std::uint32_t deepest_call = 4096;
  if (warp.depth >= deepest_call) {
    return fail_at(
        warp, segment, lanes,
        "illegal address: stack overflow: more than " + std::to_string(deepest_call) + " nested calls");
  }
  if (warp.frames.size() == warp.depth) warp.frames.push_back(std::make_unique<Frame>());
  Frame& frame = *warp.frames[warp.depth];
  frame.function = &callee;
  frame.registers = frame.storage.reserve(callee.registers->bytes());
  if (frame.registers == nullptr) return fail("no memory for a call frame", segment.line);
  frame.local = local;
  frame.top = local + callee.frame->bytes();
  frame.call = is_kernel ? nullptr : &segment;
  frame.lanes = lanes;
  frame.groups.clear();
  frame.groups.push_back({.pc = callee.segments.empty() ? no_segment : 0, .mask = lanes});
  ++warp.depth;
  return true;
}

void BlockRunner::copy_results(Warp& warp, const Frame& callee, const Frame& caller, std::uint32_t lanes) {
  const CallSite& site = callee.call->call;
  const std::size_t count = std::min(site.results.size(), callee.function->results.size());
  for (std::size_t i = 0; i < count; ++i)
    copy_slot(warp, lanes, callee, callee.function->results[i], caller, site.results[i]);
}

/// Returns results to the caller for the called lanes that have not exited.
void BlockRunner::pop_frame(Warp& warp) {
  const Frame& callee = warp.top();
  --warp.depth;
  if (callee.call == nullptr) return;
  copy_results(warp, callee, warp.top(), callee.lanes & warp.live);
  warp.top().groups.back().pc = callee.call->next;
}

bool BlockRunner::call(Warp& warp, const Segment& segment, std::uint32_t lanes) {
  Frame& caller = warp.top();
  LaneGroup& group = caller.groups.back();
  if (lanes == 0) {
    group.pc = segment.next;
    return true;
  }
  const CallSite& site = segment.call;
  if (site.builtin != Builtin::none) {
    group.pc = segment.next;
    return call_builtin(warp, segment, lanes);
  }
  const std::uint32_t pc = group.pc;
  if (site.indirect) {
    for_each_lane(lanes, [&](std::uint32_t lane) { caller.targets[lane] = warp.context.operand[lane]; });
    diverge_for_calls(caller, segment, pc, lanes);
    return true;
  }
  if (lanes != group.mask) {
    LaneGroup sides[2] = {{.pc = segment.next, .mask = group.mask & ~lanes}, {.pc = pc, .mask = lanes}};
    diverge(caller, segment.next, sides);
  }
  const CompiledFunction& callee = program_.functions[site.callee];
  if (!push_frame(warp, callee, segment, lanes)) return false;
  for (std::size_t i = 0; i < std::min(site.arguments.size(), callee.parameters.size()); ++i) {
    copy_slot(warp, lanes, caller, site.arguments[i], warp.top(), callee.parameters[i]);
  }
  return true;
}

/// Splits lanes by callee. Lanes that call the same function form a group, which is independent of the others
/// until it returns. The group with the lowest lane runs first.
void BlockRunner::diverge_for_calls(Frame& caller, const Segment& segment, std::uint32_t pc,
                                    std::uint32_t lanes) {
  std::vector<LaneGroup> sides;
  for (std::uint32_t left = lanes; left != 0; left &= ~sides.back().mask) {
    const std::uint64_t token = caller.targets[std::countr_zero(left)];
    LaneGroup& side = sides.emplace_back(LaneGroup{.pc = pc, .calls_indirectly = true});
    for_each_lane(left, [&](std::uint32_t lane) {
      if (caller.targets[lane] == token) side.mask |= 1u << lane;
    });
  }
  if (sides.size() == 1 && lanes == caller.groups.back().mask) {
    caller.groups.back().calls_indirectly = true;
    return;
  }
  const std::uint32_t others = caller.groups.back().mask & ~lanes;
  if (others != 0) sides.push_back({.pc = segment.next, .mask = others});
  std::ranges::reverse(sides);
  diverge(caller, segment.next, sides);
}

/// Makes the indirect call of the topmost group, whose lanes all have the same target.
bool BlockRunner::call_target(Warp& warp, const Segment& segment) {
  Frame& caller = warp.top();
  LaneGroup& group = caller.groups.back();
  group.calls_indirectly = false;
  const std::uint32_t lanes = group.mask;
  const std::uint64_t token = caller.targets[std::countr_zero(lanes)];
  const CompiledFunction* const callee = program_.find(ModuleSymbols::function_of_token(token));
  if (callee == nullptr) {
    return fail_at(warp, segment, lanes,
                   "a call through " + hexadecimal(token) + ", which is not a function of this module");
  }
  if (callee->failure) {
    if (!failure_) failure_ = Failure{*callee->failure};
    return false;
  }
  if (!push_frame(warp, *callee, segment, lanes)) return false;
  for (std::size_t i = 0; i < std::min(segment.call.arguments.size(), callee->parameters.size()); ++i) {
    copy_slot(warp, lanes, caller, segment.call.arguments[i], warp.top(), callee->parameters[i]);
  }
  return true;
}

bool BlockRunner::call_builtin(Warp& warp, const Segment& segment, std::uint32_t lanes) {
  const CallSite& site = segment.call;
  const Frame& frame = warp.top();
  bool good = true;
  if (const char* const obstacle = obstacle_to_repetition(site.builtin);
      launch_.explored != nullptr && obstacle != nullptr) {
    launch_.explored->obstacle = obstacle;
    launch_.explored->is_abandoned = launch_.explored->is_repetition();
    if (launch_.explored->is_repetition()) return true;
  }
  for_each_lane(lanes, [&](std::uint32_t lane) {
    if (!good) return;
    BuiltinCall request{.builtin = site.builtin,
                        .lane = lane,
                        .warp = &warp.context,
                        .memory = launch_.memory,
                        .launches = launch_.device_launches,
                        .explored = launch_.explored};
    for (std::size_t i = 0; i < std::min<std::size_t>(site.arguments.size(), 5); ++i) {
      const CallSlot& slot = site.arguments[i];
      request.arguments[i] = slot.bytes > sizeof(std::uint64_t)
                                 ? reinterpret_cast<std::uintptr_t>(slot_address(warp, frame, slot, lane))
                                 : read_scalar(warp, frame, slot, lane);
    }
    const Result<std::uint64_t> result = run_builtin(request);
    if (!result) {
      good = fail_at(warp, segment, 1u << lane, result.error().diagnostics[0].message);
    } else if (!site.results.empty()) {
      write_scalar(warp, frame, site.results[0], lane, *result);
    }
  });
  return good;
}

}  // namespace lynxpp::device::cpu
