#include "report/overhead/overhead.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "report/overhead/figures.h"
#include "support/check.h"

namespace lynxpp::report {
namespace {

const TimingRecord* timing_of(const BenchRun& run, const std::string& kernel) {
  const auto found = std::find_if(run.timings.begin(), run.timings.end(),
                                  [&](const TimingRecord& record) { return record.kernel == kernel; });
  return found == run.timings.end() || found->launches == 0 ? nullptr : &*found;
}

double launch_ms(const TimingRecord& record) { return record.execute / static_cast<double>(record.launches); }

/// nullopt when no round has the kernel's time both ways.
std::optional<KernelOverhead> compare(const std::string& kernel, const std::vector<BenchRun>& native,
                                      const std::vector<BenchRun>& instrumented) {
  std::vector<double> native_ms;
  std::vector<double> instrumented_ms;
  std::vector<double> buffers_ms;
  std::vector<double> ratios;
  KernelOverhead overhead;
  overhead.kernel = kernel;
  for (std::size_t round = 0; round < native.size(); ++round) {
    const TimingRecord* const before = timing_of(native[round], kernel);
    const TimingRecord* const after = timing_of(instrumented[round], kernel);
    if (before == nullptr || after == nullptr) continue;
    native_ms.push_back(launch_ms(*before));
    instrumented_ms.push_back(launch_ms(*after));
    if (after->buffers) buffers_ms.push_back(*after->buffers / static_cast<double>(after->launches));
    if (native_ms.back() > 0) ratios.push_back(instrumented_ms.back() / native_ms.back());
    overhead.launches = after->launches;
    if (before->original) overhead.original = before->original;
    if (after->variant) overhead.variant = after->variant;
  }
  if (ratios.empty()) return std::nullopt;
  overhead.native_ms = median(native_ms);
  overhead.instrumented_ms = median(instrumented_ms);
  if (!buffers_ms.empty()) overhead.buffers_ms = median(buffers_ms);
  overhead.ratio = median(ratios);
  overhead.least_ratio = *std::min_element(ratios.begin(), ratios.end());
  overhead.most_ratio = *std::max_element(ratios.begin(), ratios.end());
  return overhead;
}

double program_ms(const std::vector<BenchRun>& runs) {
  std::vector<double> times;
  for (const BenchRun& run : runs) times.push_back(run.program_ms);
  return median(times);
}

SettingOverhead compare(const std::vector<BenchRun>& native, const BenchSetting& setting) {
  SettingOverhead overhead;
  overhead.name = setting.name;
  overhead.native_program_ms = program_ms(native);
  overhead.instrumented_program_ms = program_ms(setting.runs);
  for (const BenchRun& run : setting.runs) overhead.same_output &= run.same_output;
  const BenchRun& last = setting.runs.back();
  for (const TimingRecord& timing : last.timings) {
    if (auto kernel = compare(timing.kernel, native, setting.runs))
      overhead.kernels.push_back(std::move(*kernel));
  }
  for (const CoverageRecord& record : last.coverage) {
    if (!record.instrumented) overhead.not_instrumented.push_back(record);
  }
  const auto total = [](const KernelOverhead& kernel) {
    return kernel.native_ms * static_cast<double>(kernel.launches);
  };
  std::stable_sort(overhead.kernels.begin(), overhead.kernels.end(),
                   [&](const KernelOverhead& a, const KernelOverhead& b) { return total(a) > total(b); });
  double logarithms = 0;
  for (std::size_t i = 0; i < overhead.kernels.size(); ++i) {
    logarithms += std::log(overhead.kernels[i].ratio);
    if (overhead.kernels[i].ratio > overhead.kernels[overhead.worst].ratio) overhead.worst = i;
  }
  if (!overhead.kernels.empty())
    overhead.geometric_mean = std::exp(logarithms / static_cast<double>(overhead.kernels.size()));
  return overhead;
}

}  // namespace

Overhead overhead_of(const Bench& bench) {
  LYNXPP_CHECK(!bench.native.empty(), "no native run");
  Overhead overhead;
  overhead.command = bench.command;
  overhead.rounds = bench.native.size();
  for (const BenchRun& run : bench.native) {
    overhead.native_output_is_stable &= run.same_output;
    for (const TimingRecord& timing : run.timings) overhead.device = timing.device;
  }
  for (const BenchSetting& setting : bench.settings)
    overhead.settings.push_back(compare(bench.native, setting));
  return overhead;
}

}  // namespace lynxpp::report
