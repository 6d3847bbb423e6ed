// Counts that each worker of a launch keeps, and their sum.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "device/cpu/simt/execute/counters/counters.h"
#include "device/cpu/simt/execute/counters/launch_counters.h"

namespace lynxpp::device::cpu {

struct Program;

/// Counts of one segment by one worker.
struct SegmentCounts {
  std::uint64_t warps = 0;  ///< times a warp ran the segment
  std::uint64_t lanes = 0;  ///< active lanes, summed
};

/// Counts of one worker.
struct WorkerCounts {
  WorkerCounts(const Program& program, bool counts_words);
  std::vector<SegmentCounts> segments;
  std::vector<SiteCounts> sites;
  std::optional<WordCounters> words;
};

/// Adds up the workers' counts.
LaunchCounters collect_counters(const Program& program, const std::vector<WorkerCounts>& workers);

}  // namespace lynxpp::device::cpu
