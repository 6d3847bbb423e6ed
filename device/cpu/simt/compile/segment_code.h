// Code of a segment: a list of steps, whose forms all kernels of the process share, or its own machine code.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "device/cpu/simt/execute/context.h"

namespace lynxpp::device::cpu {

/// Machine code of one instruction, for the registers, constants and sites in `operands`. Reads and writes
/// the warp's register file. Returns the lanes of `mask` whose guard holds.
using FormFunction = std::uint32_t (*)(WarpContext* warp, std::uint32_t mask, const std::uint64_t* operands);

struct FormCall {
  FormFunction run = nullptr;
  const std::uint64_t* operands = nullptr;
};

struct SegmentCode {
  /// Same contract as SegmentFunction.
  std::uint32_t run(WarpContext* warp, std::uint32_t mask) const {
    if (const SegmentFunction code = compiled.load(std::memory_order_acquire); code != nullptr)
      return code(warp, mask);
    std::uint32_t taken = mask;
    for (const FormCall& step : steps) taken = step.run(warp, mask, step.operands);
    return last_is_guarded ? taken : mask;
  }

  std::vector<FormCall> steps;
  std::vector<std::uint64_t> operands;  ///< of all steps
  bool last_is_guarded = false;         ///< true if the last instruction is guarded; it is then a step
  std::vector<std::uint32_t> live_out;  ///< ids of the registers that are read after it
  /// Index of its first access site and operation among the program's.
  std::uint32_t first_access = 0, first_operation = 0;
  std::uint32_t instructions = 0;  ///< instructions that its own code would have
  /// Code of the segment, and possibly of segments after it; runs instead of the steps once it exists. Steps
  /// and code leave the same values in live registers, so that they are interchangeable.
  std::atomic<SegmentFunction> compiled{nullptr};
  /// Runs of the steps, summed over all finished workers.
  mutable std::atomic<std::uint32_t> runs{0};
};

}  // namespace lynxpp::device::cpu
