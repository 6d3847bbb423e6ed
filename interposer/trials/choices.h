// Settings of trials (LYNXPP_TRIALS): launches whose times show what a kernel's operations cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ptx/perturb/perturbation.h"
#include "support/result.h"

namespace lynxpp::interposer {

/// Determines which kernels trials launch in addition to the program's launches, right before one of them.
enum class ReplayChoice : std::uint8_t {
  never,
  if_repeatable,  ///< if the kernel provably writes nothing that it reads
  always,         ///< also with memory that is saved and restored
};

struct TrialChoices {
  /// Variants that launches run in turn; empty: all classes of operations, then lines of those that matter.
  std::vector<ptx::Perturbation> perturbations;
  std::size_t launches = 60;  ///< limit for the trials of a kernel with one launch shape
  ReplayChoice replay = ReplayChoice::if_repeatable;
  bool tries_remedies = false;  ///< changes that keep the results are tried, and their results compared
};

/// Parses LYNXPP_TRIALS ("classes", "remedies" for these, too, or perturbations separated by commas),
/// LYNXPP_TRIAL_LAUNCHES (a number; empty: the default) and LYNXPP_TRIAL_REPLAY ("0", "1" or empty). The
/// message names the variable.
Result<TrialChoices> parse_trial_choices(const std::string& trials, const std::string& launches,
                                         const std::string& replay);

}  // namespace lynxpp::interposer
