// Faults of the warps of a block.
#include <bit>
#include <string>
#include <string_view>

#include "device/cpu/simt/execute/faults.h"
#include "device/cpu/simt/execute/order/scheduler.h"
#include "support/text.h"

namespace lynxpp::device::cpu {
namespace {

std::string triple(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
}

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
  if (launch_.schedule() != nullptr && launch_.check->selection().sync) {
    launch_.check->add_finding(FindingKind::failing_order, place_at(warp, warp.top(), segment, lanes),
                               "the launch does not fail in schedule 1: " + message);
  }
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
  if (fault.kind == FaultKind::partial_warp) {
    return fail("a partial warp executed an instruction that all lanes of a warp must execute together",
                fault.line);
  }
  const AccessSite& site = *fault.site;
  std::string message = fault.kind == FaultKind::misaligned_address ? "misaligned address: "
                        : fault.kind == FaultKind::wrong_space      ? "address of the wrong space: "
                        : fault.kind == FaultKind::invalid_tensor   ? "invalid tensor map or operands: "
                        : fault.kind == FaultKind::tensor_memory    ? "illegal use of tensor memory: "
                        : fault.kind == FaultKind::bad_descriptor   ? "invalid descriptor: "
                                                                    : "illegal address: ";
  message += name_of_access(site) + " " + name_of_target(fault) + name_of_thread(warp.context, fault.lane);
  if (site.function != program_.functions[0].name)
    message += " in function '" + demangle(std::string(site.function)) + "'";
  message += name_of_source(site.source_file, site.source_line);
  return fail(message + ": " + name_of_fault(warp.context, fault), site.line);
}

/// Skips an illegal access in a checked launch. Returns false if the fault ends the launch.
bool BlockRunner::skip_access(Warp& warp) {
  Fault& fault = warp.context.fault;
  if (!check_ || !launch_.check->selection().memory || fault.site == nullptr) return false;
  check_fault(warp);
  if (!launch_.check->note_fault(*failure_)) return false;
  failure_.reset();
  fault = {};
  return true;
}

}  // namespace lynxpp::device::cpu
