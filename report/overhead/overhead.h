// What instrumentation costs: kernel times of native and instrumented runs of one program, made in turn.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/record.h"

namespace lynxpp::report {

/// One run of the program.
struct BenchRun {
  double program_ms = 0;  ///< start to end of the process
  bool same_output = true;
  std::vector<TimingRecord> timings;
  std::vector<CoverageRecord> coverage;
};

/// The runs with one set of specifications; run i of it was made next to native run i.
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
  double native_ms = 0;        ///< of one launch: the mean over a run's launches, the median over the runs
  double instrumented_ms = 0;
  /// what clearing and copying back an instrumented launch's buffers took beside it
  std::optional<double> buffers_ms;
  double ratio = 0;  ///< the median over the rounds, each a native run and the instrumented run beside it
  double least_ratio = 0;
  double most_ratio = 0;
  std::optional<KernelResources> original;
  std::optional<KernelResources> variant;
};

struct SettingOverhead {
  std::string name;
  std::vector<KernelOverhead> kernels;           ///< the longest-running first
  std::vector<CoverageRecord> not_instrumented;  ///< kernels of which no launch was
  double geometric_mean = 0;                     ///< of the kernels' ratios; 0: there are none
  std::size_t worst = 0;                         ///< the kernel with the greatest ratio
  double native_program_ms = 0;                  ///< medians; with the loading and compiling of variants
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

/// Preconditions: at least one native run, and as many runs of each setting as native ones.
Overhead overhead_of(const Bench& bench);

/// "20 -> 28", or "20" when nothing changed; empty when one of them is not known.
std::string change(const std::optional<KernelResources>& before, const std::optional<KernelResources>& after,
                   std::uint64_t KernelResources::*member);

/// Tables in at most `width` characters a line where names can be shortened to that.
std::string to_text(const Overhead& overhead, std::size_t width);

/// One JSON object and a line end; docs/metrics.md describes it.
std::string to_json(const Overhead& overhead);

}  // namespace lynxpp::report
