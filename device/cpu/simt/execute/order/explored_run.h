// State of a launch that is run several times, in different orders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "device/cpu/simt/check/write_log.h"
#include "device/cpu/simt/execute/order/schedule.h"
#include "support/finding_kind.h"

namespace lynxpp::device::cpu {

/// Replaces undefined values in a run, to find out if the launch's results depend on them.
struct UndefinedValues {
  std::optional<std::byte> fill = {};  ///< value of each byte; empty: nothing is replaced
  /// Of these findings: reads of uninitialized shared memory, or shuffles from inactive lanes.
  FindingKind of = FindingKind::uninitialized_read;
  std::uint32_t line = 0;  ///< only at this PTX line; 0: everywhere

  bool replaces(FindingKind kind, std::uint32_t at) const {
    return fill && of == kind && (line == 0 || line == at);
  }
};

/// One of the runs.
struct ExploredRun {
  Schedule* schedule = nullptr;  ///< null: the order of launches that are not explored
  WriteLog* log = nullptr;
  bool repeats = false;  ///< in order 1: a repetition, which the program does not see
  UndefinedValues undefined = {};
  std::uint64_t most_segments = 0;  ///< after which the run is abandoned; 0: no limit
  std::uint64_t segments = 0;       ///< that warps have run
  /// Counts changes of memory, arrivals at barriers and exits. While it stays the same, warps can affect each
  /// other no more. Only with a schedule.
  std::uint64_t changes = 0;
  bool is_abandoned = false;
  std::string obstacle = {};  ///< reason why the launch cannot be repeated, once known
  std::size_t printed = 0;    ///< hash of the printed text

  /// True if the program does not see this run.
  bool is_repetition() const { return schedule != nullptr || repeats; }

  void count(std::uint64_t run) {
    segments += run;
    if (most_segments != 0 && segments > most_segments) is_abandoned = true;
  }
};

}  // namespace lynxpp::device::cpu
