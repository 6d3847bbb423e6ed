// The share of a run that was counted, and facts about kernels that could not be instrumented.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "report/summary.h"

namespace lynxpp::report {

struct CoverageShare {
  /// Kernels of one kind, and their launches that ran uninstrumented.
  struct Part {
    std::uint64_t kernels = 0;
    std::uint64_t launches = 0;
    double milliseconds = 0;  ///< estimated device time of these launches, from those that were timed
  };
  Part all;                          ///< every kernel and launch
  Part without_ptx;                  ///< kernels whose PTX is not available
  Part refused;                      ///< kernels that could not be instrumented for another reason
  std::uint64_t timed_launches = 0;  ///< of kernels that were not counted
  bool has_times = false;            ///< true if each kernel has a time on a GPU
};

CoverageShare coverage_share_of(const Summary& summary);

/// Returns the estimated GPU milliseconds of the kernel's uninstrumented launches; nullopt if none was timed.
std::optional<double> uncounted_milliseconds(const Summary& summary, const CoverageRecord& record);

/// "Counted: 88 % of GPU time (estimated), 62 % of launches, 4 of 25 kernels." and one line for each kind
/// of kernel that was not counted, which refers to `details`. Empty if every kernel could be instrumented.
std::string coverage_share_text(const CoverageShare& share, std::string_view details);

}  // namespace lynxpp::report
