// The calls from a kernel to a program point: those that the compiler inlined, from the line information, and
// those that a warp is executing.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "device/cpu/simt/check/finding.h"
#include "device/cpu/simt/compile/program.h"

namespace lynxpp::device::cpu {

/// A call in progress: of the function `callee`, by the instruction at a PTX line of `caller`.
struct ActiveCall {
  const CompiledFunction* callee = nullptr;
  const CompiledFunction* caller = nullptr;
  std::uint32_t line = 0;
};

/// Calls in progress, innermost first; empty in the kernel, nullopt if they are unknown.
using ActiveCalls = std::optional<std::vector<ActiveCall>>;

/// Returns the stack of the instruction at a PTX line of a function. Long stacks keep the innermost frames
/// and the last one. Empty if the program does not have the instruction.
DeviceStack device_stack(const Program& program, std::string_view function, std::uint32_t line,
                         const ActiveCalls& calls);

}  // namespace lynxpp::device::cpu
