// How a segment is executed: instruction by instruction, through forms that all kernels of the process share,
// or as machine code of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "device/cpu/simt/execute/context.h"

namespace lynxpp::device::cpu {

/// Machine code of one instruction for whatever registers, constants and sites the operands name. Reads and
/// writes the warp's register file. Returns the lanes of `mask` for which its guard holds.
using FormFunction = std::uint32_t (*)(WarpContext* warp, std::uint32_t mask, const std::uint64_t* operands);

struct FormCall {
  FormFunction run = nullptr;
  const std::uint64_t* operands = nullptr;
};

struct SegmentCode {
  /// As SegmentFunction.
  std::uint32_t run(WarpContext* warp, std::uint32_t mask) const {
    if (const SegmentFunction code = whole.load(std::memory_order_acquire); code != nullptr)
      return code(warp, mask);
    std::uint32_t taken = mask;
    for (const FormCall& step : steps) taken = step.run(warp, mask, step.operands);
    return last_is_guarded ? taken : mask;
  }

  std::vector<FormCall> steps;
  std::vector<std::uint64_t> operands;  ///< of all steps
  bool last_is_guarded = false;         ///< its last instruction; then that is a step
  std::vector<std::uint32_t> live_out;  ///< ids of the registers that are read behind it
  /// Where its access sites and operations begin among the program's.
  std::uint32_t first_access = 0, first_operation = 0;
  std::uint32_t instructions = 0;  ///< that code of its own would have
  /// Runs the segment in place of the steps once it is there, and maybe segments behind it. Both leave the
  /// same in the registers that are live, so that they may take turns.
  std::atomic<SegmentFunction> whole{nullptr};
  /// Of all workers that have finished: times the steps were run.
  mutable std::atomic<std::uint32_t> runs{0};
};

}  // namespace lynxpp::device::cpu
