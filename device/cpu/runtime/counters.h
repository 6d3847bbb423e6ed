// The executor's own exact counters as JSON Lines, one object per launch: the oracle instrumented results are
// compared with. Members: the launch's totals, `opcodes` (thread executions by whole opcode), `blocks`, and
// `sites`, the instructions that a warp reached, in order of function and place, without the members that are
// zero. Their meaning: executor.h. Launches of instrumented variants have a member `instrumented`, true.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "device/cpu/simt/execute/executor.h"

namespace lynxpp::device::cpu {

/// The file LYNXPP_CPU_COUNTERS names; nullopt when counters are not wanted.
std::optional<std::string> counters_path();

/// Of which counters are written.
struct CountedLaunch {
  std::string kernel;
  std::uint64_t number = 0;  ///< of the kernel's launches, from 0
  bool is_instrumented =
      false;  ///< an instrumented variant's: the line says so, and counts what was added, too
  LaunchShape shape;
};

/// Appends one line. A file that cannot be written is logged. Thread safe.
void write_counters(const std::string& path, const CountedLaunch& launch, const LaunchCounters& counters);

}  // namespace lynxpp::device::cpu
