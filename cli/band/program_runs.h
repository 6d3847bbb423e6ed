// The program runs that `lynxpp band` needs: one for counts, one for times and, if requested, two with added
// arithmetic.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/band/arguments.h"
#include "models/campprof/calibration.h"
#include "models/clock/kernel_time.h"
#include "report/record.h"
#include "support/result.h"

namespace lynxpp::cli {

/// The launches of one kernel.
struct Launches {
  std::vector<report::LaunchRecord> counted;         ///< by memory_transactions
  std::vector<report::LaunchRecord> with_hot_spots;  ///< the same launches, by observe/hot_spots.cod
  std::vector<report::LaunchRecord>
      with_instructions;  ///< the same launches, by observe/access_counts.cod; empty unless requested
  std::optional<report::SitesRecord> sites;
  std::optional<report::TimingRecord> timing;         ///< of the unmodified kernel
  std::optional<report::TimingRecord> before, after;  ///< with little added arithmetic, and with all of it
  std::optional<models::clock::Traffic> traffic;
};

struct ProgramToRun {
  std::string path;
  std::string library;  ///< liblynxpp.so
};

/// Returns the launches by mangled kernel name. Fails if a run fails or launches no kernel.
Result<std::map<std::string, Launches>> run_program(const ProgramToRun& program,
                                                    const BandArguments& arguments,
                                                    const models::campprof::Calibration& calibration);

}  // namespace lynxpp::cli
