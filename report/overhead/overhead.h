// The cost of instrumentation: kernel times of native and instrumented runs of a program, in turn.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/record.h"

namespace lynxpp::report {

/// One run of the program.
struct BenchRun {
  double program_ms = 0;  ///< wall time of the process
  bool same_output = true;
  std::vector<TimingRecord> timings;
  std::vector<CoverageRecord> coverage;
};

/// The runs with one set of specifications; run i was made next to native run i.
struct BenchSetting {
  std::string name;
  std::vector<BenchRun> runs;
};

struct Bench {
  std::vector<std::string> command;
  std::vector<BenchRun> native;
  std::vector<BenchSetting> settings;
};

struct KernelOverhead {
  std::string kernel;          ///< mangled
  std::uint64_t launches = 0;  ///< in one run
  double native_ms = 0;        ///< per launch: the mean over a run's launches, then the median over the runs
  double instrumented_ms = 0;
  /// time to clear and copy back an instrumented launch's buffers, in addition
  std::optional<double> buffers_ms;
  double ratio = 0;  ///< the median over the rounds of the instrumented over the native time
  double least_ratio = 0;
  double most_ratio = 0;
  std::optional<KernelResources> original;
  std::optional<KernelResources> variant;
};

struct SettingOverhead {
  std::string name;
  std::vector<KernelOverhead> kernels;           ///< longest-running first
  std::vector<CoverageRecord> not_instrumented;  ///< kernels without an instrumented launch
  double geometric_mean = 0;                     ///< of the kernels' ratios; 0: no kernels
  std::size_t worst = 0;                         ///< the kernel with the largest ratio
  double native_program_ms = 0;                  ///< medians; include loading and compiling of variants
  double instrumented_program_ms = 0;
  bool same_output = true;
};

struct Overhead {
  std::vector<std::string> command;
  std::string device;
  std::size_t rounds = 0;
  bool native_output_is_stable = true;
  std::vector<SettingOverhead> settings;
};

/// Preconditions: at least one native run, and the same number of runs of each setting.
Overhead overhead_of(const Bench& bench);

/// Returns "20 -> 28", or "20" if nothing changed; empty if one of them is unknown.
std::string change(const std::optional<KernelResources>& before, const std::optional<KernelResources>& after,
                   std::uint64_t KernelResources::*member);

/// Returns tables with lines of at most `width` characters if shortening names allows it.
std::string to_text(const Overhead& overhead, std::size_t width);

/// Returns one JSON object and a newline; docs/metrics.md describes it.
std::string to_json(const Overhead& overhead);

}  // namespace lynxpp::report
