// The effect of a change of the program: costs of its kernels that fell or rose, findings that are gone or
// new.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/compare/changes.h"
#include "cli/compare/comparison.h"
#include "report/findings/findings.h"
#include "report/summary.h"

namespace lynxpp::cli {

/// A count that should be small.
struct CostChange {
  std::string_view name;  ///< "wavefronts"
  Both<double> value;
  double work = 0;  ///< change of the estimated work (report/findings/facts.h), in cycles

  /// (b - a) / a; infinite if a is 0 and b is not.
  double growth() const;
};

/// A finding of one run that the other lacks, and its number in the summary of its run, from 1.
struct FindingChange {
  std::size_t number = 0;
  report::KernelFinding finding;
};

struct KernelVerdict {
  std::string kernel;  ///< its C++ name in the second run
  /// Costs that fell and that rose, largest change of work first.
  std::vector<CostChange> better;
  std::vector<CostChange> worse;
  std::vector<FindingChange> gone;
  std::vector<FindingChange> appeared;

  bool is_better() const { return !better.empty() || !gone.empty(); }
  bool is_worse() const { return !worse.empty() || !appeared.empty(); }
};

struct Verdict {
  /// Kernels of both runs with a change, largest change of work first. If a run has kernels that the other
  /// lacks, one more, named "all kernels", for the sums.
  std::vector<KernelVerdict> kernels;
  Both<std::vector<std::string>> only;  ///< C++ names of kernels that the other run lacks
  std::size_t costs = 0;                ///< costs that both runs measured, besides launches
  std::size_t other_changes = 0;        ///< changed results, if no cost changed
};

/// Compares warp instructions, sectors, wavefronts, atomic operations on one word and launches, which repeat
/// exactly, and times of a GPU, whose changes below 10 % are noise. Findings are paired by their ids.
Verdict verdict_of(const Both<const report::Summary*>& summaries, const Comparison& comparison);

/// Returns one line: "transpose: 270,336 → 16,384 wavefronts (-94 %), finding 1 (bank conflicts) gone;
/// nothing got worse".
std::string to_text(const Verdict& verdict);

/// Returns a line for each cost that rose by more than `share`.
std::vector<std::string> failures_of(const Verdict& verdict, double share);

}  // namespace lynxpp::cli
