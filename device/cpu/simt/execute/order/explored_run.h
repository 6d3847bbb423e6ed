// State of a launch that is run several times, in different orders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "device/cpu/simt/check/write_log.h"
#include "device/cpu/simt/execute/order/schedule.h"

namespace lynxpp::device::cpu {

/// One of the runs.
struct ExploredRun {
  Schedule* schedule = nullptr;  ///< null: the order of launches that are not explored
  WriteLog* log = nullptr;
  std::optional<std::byte> fill = {};  ///< initial value of each byte of shared memory; else it is arbitrary
  std::uint64_t most_segments = 0;     ///< after which the run is abandoned; 0: no limit
  std::uint64_t segments = 0;          ///< that warps have run
  /// Counts changes of memory, arrivals at barriers and exits. While it stays the same, warps can affect each
  /// other no more. Only with a schedule.
  std::uint64_t changes = 0;
  bool is_abandoned = false;
  std::string obstacle = {};  ///< reason why the launch cannot be repeated, once known
  std::size_t printed = 0;    ///< hash of the printed text

  /// True if the program does not see this run.
  bool is_repetition() const { return schedule != nullptr || fill.has_value(); }

  void count(std::uint64_t run) {
    segments += run;
    if (most_segments != 0 && segments > most_segments) is_abandoned = true;
  }
};

}  // namespace lynxpp::device::cpu
