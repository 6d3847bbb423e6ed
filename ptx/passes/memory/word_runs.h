// Strided device memory accesses in loops. The accesses of a thread between loop entry and exit are described
// by a run: its first address, stride and trip count. So nothing is counted inside the loop:
//
//   for (i = begin[row]; i < begin[row + 1]; ++i) sum += values[i]      one run of 4-byte steps per row
//
// Loop bounds may depend on data, in which case the host cannot compute them (ptx/replay).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "ptx/analysis/analyses.h"
#include "ptx/analysis/flow/loops.h"

namespace lynxpp::ptx {

/// Accesses of one block that every iteration of its innermost loop makes, with equal distances between
/// adjacent accesses, including the last one of an iteration and the first one of the next.
struct WordRun {
  std::uint32_t loop = no_loop;
  std::uint32_t block = no_block;
  std::vector<std::uint32_t> instructions;  ///< in address order
  std::uint32_t bytes = 4;                  ///< of each access: 4, 8 or 16
  /// The distance between adjacent accesses; 0: all at one address. nullopt: loop-invariant, computed in the
  /// loop.
  std::optional<std::int64_t> distance;
  std::vector<std::int64_t> offsets;  ///< of the accesses, relative to their address registers

  /// The slots where a thread records the run (LoopRecords); nullopt: the run is recorded if there is room,
  /// or counted access by access.
  struct RecordSlots {
    /// u64: the loop's leading register at loop entry and exit
    std::uint32_t first = 0, end = 0;
    std::int64_t step = 0;      ///< growth of that register per iteration
    std::uint32_t own_end = 0;  ///< u64: the first access's register at loop exit
  };
  std::optional<RecordSlots> record;
};

/// The loop records of a launch: one record per thread, in thread order, with register values at loop entry
/// and exit. Only for outermost loops of the kernel, which a thread enters at most once.
///
///   for (float *at = begin; at < end; ++at) sum += *at      first = begin, end = end, step 4
struct LoopRecords {
  std::uint32_t bytes = 0;  ///< per thread, a multiple of 32; 0: no records
  std::uint32_t slot = 0;   ///< parameter slot: the address of the records
};

/// By position in unit.spliced.probes and in unit.reached.functions.
using WordRuns = std::map<std::pair<std::size_t, std::size_t>, std::vector<WordRun>>;

/// Finds the runs of one function. `is_counted` selects the instructions. Runs consist of unguarded accesses
/// of 4, 8 or 16 bytes to the global state space, at registers plus constants; loops with calls have no runs.
std::vector<WordRun> find_word_runs(FunctionAnalyses& analyses,
                                    const std::function<bool(std::uint32_t)>& is_counted);

/// Assigns record slots to those runs of the kernel that can have one, and adds their size to `bytes`.
/// Requires that a thread exits the loop where the last block falls through, at a register that every
/// iteration changes by a constant.
void assign_records(FunctionAnalyses& analyses, std::vector<WordRun>& runs, std::uint32_t& bytes);

}  // namespace lynxpp::ptx
