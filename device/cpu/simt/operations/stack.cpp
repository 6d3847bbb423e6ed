// Dynamic stack allocation (alloca). All lanes of a frame share one stack pointer: an allocation by one lane
// moves it for all, and memory is released only when all live lanes restore it together.
#include <algorithm>
#include <bit>

#include "device/cpu/simt/compile/frame_layout.h"
#include "device/cpu/simt/lanes/lane_loop.h"
#include "device/cpu/simt/operations/operation.h"

namespace lynxpp::device::cpu {
namespace {

constexpr std::uint64_t least_alignment = 8;

void give(const OperationCall& call, std::uint64_t address) {
  for_each_lane(call.mask, [&](std::uint32_t lane) { call.out[0][lane] = address; });
}

}  // namespace

/// alloca.type ptr, size{, alignment}: returns a local address.
Result<Operation> make_stack_allocation(OperationRequest& request) {
  const std::size_t sources = request.sources.size();
  if (!take_width(request.words) || request.results != 1 || sources == 0 || sources > 2)
    return refuse(request);
  std::uint64_t alignment = least_alignment;
  if (sources == 2) {
    const SourceSlot& given = request.sources[1];
    if (given.kind != SourceSlot::Kind::constant || given.constant <= 0 ||
        !std::has_single_bit(static_cast<std::uint64_t>(given.constant)))
      return failure("its alignment is not a power of two");
    alignment = std::max(alignment, static_cast<std::uint64_t>(given.constant));
  }
  const std::uint32_t line = request.line;
  return Operation{.run = [alignment, line](const OperationCall& call) {
    WarpContext& warp = *call.warp;
    std::uint64_t most = 0;
    std::uint32_t whose = 0;
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      if (call.in[0][lane] < most) return;
      most = call.in[0][lane];
      whose = lane;
    });
    const std::uint64_t begin = align_up(warp.stack_top, alignment);
    give(call, begin);
    if (begin <= warp.local_stride && most <= warp.local_stride - begin) {
      warp.stack_top = begin + most;
    } else if (warp.fault.kind == FaultKind::none) {
      warp.fault = {.kind = FaultKind::stack_overflow, .line = line, .lane = whose, .address = begin + most};
    }
  }};
}

/// stacksave.type d
Result<Operation> make_stack_save(OperationRequest& request) {
  if (!take_width(request.words) || request.results != 1 || !request.sources.empty()) return refuse(request);
  return Operation{.run = [](const OperationCall& call) { give(call, call.warp->stack_top); }};
}

/// stackrestore.type a
Result<Operation> make_stack_restore(OperationRequest& request) {
  if (!take_width(request.words) || request.results != 0 || request.sources.size() != 1)
    return refuse(request);
  return Operation{.run = [](const OperationCall& call) {
    WarpContext& warp = *call.warp;
    if ((warp.live & ~call.mask) != 0) return;
    std::uint64_t top = warp.frame;
    for_each_lane(call.mask, [&](std::uint32_t lane) { top = std::max(top, call.in[0][lane]); });
    warp.stack_top = std::min(warp.stack_top, top);
  }};
}

}  // namespace lynxpp::device::cpu
