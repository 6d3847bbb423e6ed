// The specification that measures balance and stalls on a GPU.
#pragma once

namespace lynxpp::cli::rating {

/// Emits, by the GPU's clocks, "average_warps_per_sm", the warps on an SM averaged over the SMs and the
/// launch, and "stalled", the share of the warps' cycles from before a barrier of the block until the warp
/// continues.
inline constexpr const char* barrier_waits = R"(
global unsigned long begins[WARPS];  // nanoseconds
global unsigned long ends[WARPS];
global unsigned long resident[WARPS];  // cycles
global unsigned long waited[WARPS];    // cycles

unsigned long begin = 0;
unsigned long first = 0;
unsigned long before = 0;
unsigned long lost = 0;

ON_KERNEL_ENTRY: {
  begin = globalTimer();
  first = clockCounter();
}

ON_INSTRUCTION: BARRIER: OPCODE("bar.sync*"): OPCODE("bar.red*"): OPCODE("bar.cta.sync*"):
    OPCODE("bar.cta.red*"): OPCODE("barrier.sync*"): OPCODE("barrier.red*"): OPCODE("barrier.cta.sync*"):
    OPCODE("barrier.cta.red*"): {
  before = clockCounter();
}

ON_INSTRUCTION_AFTER: BARRIER: OPCODE("bar.sync*"): OPCODE("bar.red*"): OPCODE("bar.cta.sync*"):
    OPCODE("bar.cta.red*"): OPCODE("barrier.sync*"): OPCODE("barrier.red*"): OPCODE("barrier.cta.sync*"):
    OPCODE("barrier.cta.red*"): {
  lost += clockCounter() - before;
}

ON_KERNEL_EXIT: {
  unsigned long now = clockCounter();
  unsigned long end = globalTimer();
  if (leastActiveThreadInWarp()) {
    begins[warpId()] = begin;
    atomicMax(&ends[warpId()], end);
    atomicMax(&resident[warpId()], now - first);
    atomicMax(&waited[warpId()], lost);
  }
}

ON_REPORT: {
  unsigned long start = 0;
  unsigned long last = 0;
  unsigned long busy = 0;
  for (unsigned long warp = 0; warp < WARPS; ++warp) {
    if (warp == 0 || begins[warp] < start) start = begins[warp];
    if (ends[warp] > last) last = ends[warp];
    if (ends[warp] > begins[warp]) busy += ends[warp] - begins[warp];
  }
  emitRatio("average_warps_per_sm", busy, (last - start) * SMS, "warps");
  emitRatio("stalled", sum(waited), sum(resident));
}
)";

}  // namespace lynxpp::cli::rating
