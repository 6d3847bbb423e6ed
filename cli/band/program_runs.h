// The runs of a program that `lynxpp band` needs: for counts, for times and, where it is wanted, with
// arithmetic added.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "models/campprof/calibration.h"
#include "models/clock/kernel_time.h"
#include "report/record.h"
#include "support/result.h"

namespace lynxpp::cli {

/// The launches of one kernel.
struct Launches {
  std::vector<report::LaunchRecord> counted;      ///< by memory_transactions
  std::vector<report::LaunchRecord> with_places;  ///< the same, by observe/hot_places.cod
  std::vector<report::LaunchRecord>
      with_instructions;  ///< … by observe/access_counts.cod, where it was wanted
  std::optional<report::SitesRecord> sites;
  std::optional<report::TimingRecord> timing;         ///< of the kernel as it is
  std::optional<report::TimingRecord> before, after;  ///< with little arithmetic added, and with all of it
  std::optional<models::clock::Traffic> traffic;
};

struct ProgramToRun {
  std::string path;
  std::string library;  ///< liblynxpp.so
};

/// By kernel's mangled name. Failure: a run fails, or has no kernels.
Result<std::map<std::string, Launches>> run_program(const ProgramToRun& program,
                                                    const BandArguments& arguments,
                                                    const models::campprof::Calibration& calibration);

}  // namespace lynxpp::cli
