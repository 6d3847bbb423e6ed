// Which segments become one function.
#pragma once

#include <cstdint>
#include <vector>

#include "device/cpu/simt/compile/program.h"

namespace lynxpp::device::cpu {

/// What LLVM takes for a function grows faster than its length: for a basic block of thousands of
/// instructions minutes.
inline constexpr std::uint32_t most_region_instructions = 500;

/// Whether a warp that has run a segment may run this one behind it without the scheduler's help.
bool continues_in(const CompiledFunction& function, std::uint32_t segment);

/// The segments that a warp may run behind this one without the scheduler's help.
std::vector<std::uint32_t> region_successors(const CompiledFunction& function, std::uint32_t segment);

/// A segment and what a warp may run behind it while its lanes stay together, nearest first; `start` is the
/// first. All of them have at most `most_region_instructions`, but for the first one alone.
std::vector<std::uint32_t> region_segments(const CompiledFunction& function, std::uint32_t start);

/// Of all its segments.
std::uint32_t region_instructions(const CompiledFunction& function, std::uint32_t start);

}  // namespace lynxpp::device::cpu
