// Runs a launch in several orders, each from the same memory (docs/checking.md, Orders).
#pragma once

#include <functional>
#include <string>

#include "device/cpu/simt/check/finding.h"
#include "device/cpu/simt/execute/launch_shape.h"
#include "device/cpu/simt/execute/memory/global_memory.h"
#include "device/cpu/simt/execute/order/explored_run.h"
#include "support/result.h"

namespace lynxpp::device::cpu {

/// A launch that can be run repeatedly.
struct ExplorableLaunch {
  std::string name;  ///< unique among the process's kernels
  LaunchShape shape = {};
  const GlobalMemory* memory = nullptr;
  /// Runs it in the order of `run` and adds what it finds to `checks.findings`.
  std::function<Status(ExploredRun& run, LaunchChecks& checks)> run = {};
  std::string obstacle = {};  ///< reason why it cannot be repeated; empty if none is known before the launch
};

/// True if orders other than 1 are to be judged.
bool explores(const LaunchChecks& checks);

/// Runs the launch in order 1, whose status and memory the program sees, and then in the other orders of
/// `checks.seeds`, if any, each from the memory before the launch. Findings say in which orders they appear;
/// those that order 1 does not show have reduced deviations. If the launch cannot be repeated, order 1 is
/// judged and `checks.unexplored` says why. An order that reads uninitialized shared memory is repeated with
/// other contents; if the results stay the same, these findings are dropped. Thread safe.
Status explore(const ExplorableLaunch& launch, LaunchChecks& checks);

/// Describes a deviation: "warp 1 of block (0, 0, 0) is delayed by 4 rounds before its turn 2".
std::string describe(const Deviation& deviation, const LaunchShape& shape);

}  // namespace lynxpp::device::cpu
