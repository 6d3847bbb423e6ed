// Strided accesses in loops to device memory. What a thread accesses between entering and exiting the loop is
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
  /// From one access to the next; 0: all at one address. Nothing: the same in all iterations, and computed
  /// there.
  std::optional<std::int64_t> distance;
  std::vector<std::int64_t> offsets;  ///< of the accesses, from the registers that their addresses begin with

  /// Where a thread records this (LoopRecords); nothing: the run is recorded where there is room, or counted
  /// access by access.
  struct Place {
    /// u64: the loop's leading register where a thread enters and exits it
    std::uint32_t first = 0, end = 0;
    std::int64_t step = 0;      ///< by which that grows in each iteration
    std::uint32_t own_end = 0;  ///< u64: the first access's register where a thread exits the loop
  };
  std::optional<Place> place;
};

/// What each thread of a launch records of loops at a place of its own, one record after the other in the
/// order of the threads: what registers hold where it enters a loop, and where it exits it. Of loops of the
/// kernel that are in no other loop, as a thread enters them once at most.
///
///   for (float *at = begin; at < end; ++at) sum += *at      first = begin, end = end, step 4
struct LoopRecords {
  std::uint32_t bytes = 0;  ///< of each thread, a multiple of 32; 0: there are none
  std::uint32_t word = 0;   ///< of the hidden parameter: where they begin
};

/// By position in unit.spliced.probes and in unit.reached.functions.
using WordRuns = std::map<std::pair<std::size_t, std::size_t>, std::vector<WordRun>>;

/// Of one function. `is_counted` says which instructions are asked about. In runs are accesses to the global
/// state space, of whole words, at registers plus constants, which are not guarded; none in loops that call.
std::vector<WordRun> find_word_runs(FunctionAnalyses& analyses,
                                    const std::function<bool(std::uint32_t)>& is_counted);

/// Gives places to those of these runs of the kernel that can have one, in records of now `bytes`, which
/// grow: of loops that a thread exits where the last block falls through, at a register that every iteration
/// changes by a constant.
void place_runs(FunctionAnalyses& analyses, std::vector<WordRun>& runs, std::uint32_t& bytes);

}  // namespace lynxpp::ptx
