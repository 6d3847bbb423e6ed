// What instrumentation costs whole programs: wall and processor time of runs made in turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lynxpp::report {

/// One run of a program.
struct ElapsedRun {
  double elapsed_ms = 0;    ///< from start to end of the process
  double processor_ms = 0;  ///< user and system time of the process and of children that it waited for
  bool same_output = true;  ///< as the first native run
};

/// The runs of one way to start the program; run i was made in round i.
struct ElapsedSetting {
  std::string name;  ///< the specifications; empty: the native runs
  ElapsedRun first;  ///< before the rounds: variants are compiled and caches are filled
  std::vector<ElapsedRun> runs;
  std::uint64_t launches = 0;               ///< of the first run
  std::uint64_t instrumented_launches = 0;  ///< of these
};

/// Settings have as many runs as `native`, which has at least one.
struct ElapsedBench {
  std::vector<std::string> command;
  std::string device;  ///< "cpu", or the GPU's name; empty: no launch was seen
  ElapsedSetting native;
  std::vector<ElapsedSetting> settings;
};

/// A setting's times over those of the native runs of the same rounds.
struct ElapsedRatio {
  double elapsed = 0;  ///< the median of the rounds' ratios
  double least_elapsed = 0;
  double most_elapsed = 0;
  double processor = 0;  ///< the median
};

ElapsedRatio ratio_of(const ElapsedSetting& setting, const ElapsedSetting& native);

/// A table with a row for the native runs and one for each setting.
std::string to_text(const ElapsedBench& bench);

/// One JSON object and a line end; docs/metrics.md describes it.
std::string to_json(const ElapsedBench& bench);

}  // namespace lynxpp::report
