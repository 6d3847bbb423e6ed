// Strided accesses in loops to device memory. What a thread accesses between entering and leaving the loop is
// described by its first address, stride and trip count, a run, so nothing is counted inside:
//
//   for (i = begin[row]; i < begin[row + 1]; ++i) sum += values[i]      a run of 4-byte steps for each row
//
// Where loops begin and how often they run may depend on data; the host could not know (ptx/replay).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "ptx/analysis/analyses.h"
#include "ptx/analysis/flow/loops.h"

namespace lynxpp::ptx {

/// Accesses of one block, which each iteration of the innermost loop around it makes, as many bytes apart
/// from each other as the last one is from the first one of the next iteration.
struct WordRun {
  std::uint32_t loop = no_loop;
  std::uint32_t block = no_block;
  std::vector<std::uint32_t> instructions;  ///< in the order in which they lie in memory
  std::uint32_t bytes = 4;                  ///< of each access: 4, 8 or 16
  /// From one access to the next; 0: all at one address. Nothing: the same in all iterations, and found out
  /// there.
  std::optional<std::int64_t> distance;
};
/// By position in unit.spliced.probes and in unit.reached.functions.
using WordRuns = std::map<std::pair<std::size_t, std::size_t>, std::vector<WordRun>>;

/// Of one function. `is_counted` says which instructions are asked about. In runs are accesses to the global
/// state space, of whole words, at registers plus constants, which are not guarded; none in loops that call.
std::vector<WordRun> find_word_runs(FunctionAnalyses& analyses,
                                    const std::function<bool(std::uint32_t)>& is_counted);

}  // namespace lynxpp::ptx
