// Selects the segments that become one function.
#pragma once

#include <cstdint>
#include <vector>

#include "device/cpu/simt/compile/program.h"

namespace lynxpp::device::cpu {

/// LLVM's compile time grows faster than the length of a function: a basic block of thousands of instructions
/// takes minutes.
inline constexpr std::uint32_t most_region_instructions = 500;

/// True if a warp may run this segment after another one without the scheduler.
bool continues_in(const CompiledFunction& function, std::uint32_t segment);

/// Returns the segments that a warp may run after this one without the scheduler.
std::vector<std::uint32_t> region_successors(const CompiledFunction& function, std::uint32_t segment);

/// Returns the segments of the region that begins at `start`: those that a converged warp may run, nearest
/// first. Their total length is limited to `most_region_instructions` unless `start` alone exceeds it.
std::vector<std::uint32_t> region_segments(const CompiledFunction& function, std::uint32_t start);

/// Returns the number of instructions in the region.
std::uint32_t region_instructions(const CompiledFunction& function, std::uint32_t start);

}  // namespace lynxpp::device::cpu
