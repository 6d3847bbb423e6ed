// The environment in which a program's launches become trials, and the records of such a run.
#pragma once

#include <string>
#include <vector>

#include "cli/child.h"
#include "cli/limits/arguments.h"
#include "report/record.h"
#include "support/result.h"

namespace lynxpp::cli {

/// Returns the variables of a run with trials that writes its records to `output`. Fails if an option or the
/// variable that replaces it is invalid.
Result<Variables> trial_variables(const LimitsArguments& arguments, const std::string& output);

/// The records of a run with trials.
struct Trials {
  std::vector<report::TrialRecord> trials;
  std::vector<report::DeviceRecord> devices;
  std::vector<report::CoverageRecord> coverage;
};

/// Prints warnings about invalid lines. Fails if the file cannot be read.
Result<Trials> read_trials(const std::string& path);

}  // namespace lynxpp::cli
