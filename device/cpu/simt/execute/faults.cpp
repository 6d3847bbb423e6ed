// Describes illegal accesses and other faults.
#include <algorithm>
#include <bit>
#include <cstdio>

#include "device/cpu/simt/execute/faults.h"
#include "device/cpu/simt/execute/scheduler.h"
#include "device/cpu/simt/lanes/access_check.h"
#include "ptx/ir/memory_table.h"
#include "support/text.h"

namespace lynxpp::device::cpu {

std::string hexadecimal(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

namespace {

std::string triple(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
}

}  // namespace

std::string name_of_access(const AccessSite& site) {
  const std::string bytes = std::to_string(site.bytes) + (site.bytes == 1 ? " byte" : " bytes");
  if (site.opcode.starts_with("txq") || site.opcode.starts_with("suq")) return "a query at";
  const ptx::MemoryRow* const row = ptx::find_memory_row(site.opcode);
  if (row == nullptr) return "an access of " + bytes + " to";
  if (row->kind == ptx::MemoryKind::copy) return "a copy of " + bytes + " from or to";
  if (row->kind == ptx::MemoryKind::synchronization) return "a barrier operation on " + bytes + " at";
  const ptx::MemorySide& side = row->sides[0];
  if (side.space == ptx::MemorySide::Space::texture) return "a texture read at";
  const bool is_surface = side.space == ptx::MemorySide::Space::surface;
  if (side.reads() && side.writes() && is_surface) return "a surface reduction at";
  if (is_surface) return side.writes() ? "a surface store to" : "a surface load from";
  if (!side.writes()) return "a load of " + bytes + " from";
  if (!side.reads()) return "a store of " + bytes + " to";
  return "an atomic operation on " + bytes + " at";
}

namespace {

/// Describes the location of the illegal access.
std::string name_of_place(const WarpContext& warp, const Fault& fault) {
  const std::string address = "address " + hexadecimal(fault.address);
  switch (fault.site->kind) {
    case AddressKind::shared:
      return "shared memory access out of range: " + address + ", the block has " +
             std::to_string(warp.shared_bytes) + " bytes";
    case AddressKind::local:
      return "local memory access out of range: " + address + ", the thread has " +
             std::to_string(warp.local_stride) + " bytes";
    case AddressKind::host: break;
  }
  switch (fault.site->space) {
    case ptx::StateSpace::constant: return "no .const variable is at this address";
    case ptx::StateSpace::param: return "no kernel parameter is at this address";
    default: break;
  }
  const std::uint64_t from_local = fault.address - reinterpret_cast<std::uintptr_t>(warp.local);
  if (from_local < warp.local_stride * warp_size) return "local memory of another thread";
  const std::uint64_t from_shared = fault.address - reinterpret_cast<std::uintptr_t>(warp.shared);
  constexpr std::uint64_t a_little = 256;
  if (warp.shared_bytes != 0 && from_shared - warp.shared_bytes < a_little &&
      warp.memory->around(fault.address).bytes == 0 && !warp.memory->is_freed(fault.address)) {
    return std::to_string(from_shared - warp.shared_bytes) + " bytes past the end of the block's " +
           std::to_string(warp.shared_bytes) + " bytes of shared memory";
  }
  return warp.memory->describe(fault.address);
}

}  // namespace

std::string name_of_fault(const WarpContext& warp, const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::misaligned_address:
      return "which is not a multiple of " +
             (never_in_window(*fault.site) && fault.site->space != ptx::StateSpace::global
                  ? "the size of its elements"
                  : std::to_string(fault.site->bytes));
    case FaultKind::wrong_space:
      return "which is in shared or local memory, but " + std::string(fault.site->opcode) +
             " accesses global memory";
    case FaultKind::no_object:
      return std::string("which is not the handle of a ") +
             (fault.site->opcode.starts_with("su") ? "surface object" : "texture object");
    case FaultKind::outside_surface: return "which is outside the surface";
    default: return name_of_place(warp, fault);
  }
}

namespace {

std::string name_of_thread(const WarpContext& warp, std::uint32_t lane) {
  return " by thread " + triple(warp.tid[0][lane], warp.tid[1][lane], warp.tid[2][lane]) + " of block " +
         triple(warp.ctaid[0], warp.ctaid[1], warp.ctaid[2]);
}

std::string name_of_source(std::string_view file, std::uint32_t line) {
  return file.empty() ? "" : ", " + std::string(file) + ":" + std::to_string(line);
}

}  // namespace

bool BlockRunner::fail_at(const Warp& warp, const Segment& segment, std::uint32_t lanes,
                          std::string message) {
  const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
  message += "," + name_of_thread(warp.context, lane);
  return fail(message + name_of_source(segment.source_file, segment.source_line), segment.line);
}

bool BlockRunner::check_fault(Warp& warp) {
  const Fault& fault = warp.context.fault;
  if (fault.kind == FaultKind::none) return true;
  if (fault.kind == FaultKind::breakpoint) return fail("the kernel executed brkpt", fault.line);
  if (fault.kind == FaultKind::stack_overflow) {
    return fail("illegal address: stack overflow: alloca extends the stack to " +
                    std::to_string(fault.address) + " bytes, past the " +
                    std::to_string(launch_.local_bytes) +
                    " bytes of local memory per thread (cudaLimitStackSize)," +
                    name_of_thread(warp.context, fault.lane),
                fault.line);
  }
  if (fault.kind == FaultKind::apart) {
    return fail("a partial warp executed an instruction that all lanes of a warp must execute together",
                fault.line);
  }
  const AccessSite& site = *fault.site;
  std::string message = fault.kind == FaultKind::misaligned_address ? "misaligned address: "
                        : fault.kind == FaultKind::wrong_space      ? "address of the wrong space: "
                                                                    : "illegal address: ";
  message +=
      name_of_access(site) + " " + hexadecimal(fault.address) + name_of_thread(warp.context, fault.lane);
  if (site.function != program_.functions[0].name)
    message += " in function '" + demangle(std::string(site.function)) + "'";
  message += name_of_source(site.source_file, site.source_line);
  return fail(message + ": " + name_of_fault(warp.context, fault), site.line);
}

/// Skips an illegal access in a checked launch. Returns false if the fault ends the launch.
bool BlockRunner::leave_out_access(Warp& warp) {
  Fault& fault = warp.context.fault;
  if (!check_ || !launch_.check->selection().memory || fault.site == nullptr) return false;
  check_fault(warp);
  const bool goes_on = launch_.check->goes_on_after(*failure_);
  if (!goes_on) return false;
  failure_.reset();
  fault = {};
  return true;
}

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
  const bool is_aligned =
      at.opcode.starts_with("bar.") || at.opcode.find(".aligned") != std::string_view::npos;
  if (!launch_.check->selection().sync || !is_aligned) return;
  if ((warp.live & ~lanes & ~leaving_lanes(warp)) == 0) return;
  const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
  FindingPlace place{
      "'" + std::string(at.opcode) + "'", function.name,      std::string(at.opcode), segment.line,
      std::string(segment.source_file),   segment.source_line};
  for (int axis = 0; axis < 3; ++axis) {
    place.block[axis] = warp.context.ctaid[axis];
    place.thread[axis] = warp.context.tid[axis][lane];
  }
  launch_.check->add_place(FindingKind::divergent_barrier, std::move(place),
                           std::to_string(std::popcount(lanes)) + " of the warp's " +
                               std::to_string(std::popcount(warp.live)) +
                               " lanes are at the barrier, the others elsewhere");
}

void BlockRunner::forget_ranges() {
  removals_ = launch_.memory->removals();
  std::fill(ranges_.begin(), ranges_.end(), AddressRange{});
  static_cast<void>(found_->of(*launch_.memory));
}

}  // namespace lynxpp::device::cpu
