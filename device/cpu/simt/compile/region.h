// Which segments become one function.
#pragma once

#include <cstdint>
#include <vector>

#include "device/cpu/simt/compile/program.h"

namespace lynxpp::device::cpu {

/// Whether a warp that has run a segment may run this one behind it without the scheduler's help.
bool continues_in(const CompiledFunction& function, std::uint32_t segment);

/// A segment and what a warp may run behind it while its lanes stay together, nearest first; `start` is the
/// first. Bounded in length, since what LLVM takes grows faster than that.
std::vector<std::uint32_t> region_segments(const CompiledFunction& function, std::uint32_t start);

/// Of all its segments.
std::uint32_t region_instructions(const CompiledFunction& function, std::uint32_t start);

}  // namespace lynxpp::device::cpu
