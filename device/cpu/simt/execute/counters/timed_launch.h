// Launches with modelled time (docs/design/modelled-time.md). The modelled device selects the warp that
// continues. Such a launch runs on one host thread; a warp runs ahead of the modelled time by a few segments
// only.
#pragma once

#include <cstdint>

#include "device/cpu/simt/execute/counters/clock.h"
#include "device/cpu/simt/execute/launch_state.h"
#include "support/result.h"

namespace lynxpp::device::cpu {

struct WorkerCounts;  // worker_counts.h

/// Runs the launch to completion and stores its time in `clock`. `counts` may be null.
Status run_timed(LaunchState& launch, LaunchClock& clock, std::uint32_t resident_blocks,
                 WorkerCounts* counts);

}  // namespace lynxpp::device::cpu
