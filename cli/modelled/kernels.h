// What the cpu device's clock says of a program's kernels, for commands that show it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/clock/kernel_time.h"
#include "models/clock/memory.h"
#include "models/machine.h"
#include "support/result.h"

namespace lynxpp::cli {

/// The launches of one kernel. All of it is modelled.
struct ModelledKernel {
  std::string kernel;  ///< mangled
  std::uint64_t launches = 0;
  std::uint64_t untimed = 0;  ///< launches that the machine cannot hold, or that have no time
  /// Of all launches: counts, cycles and seconds are sums, blocks and warps those of the first one.
  models::clock::KernelTime time;
  /// Of the first launch.
  models::clock::Traffic traffic;
};

/// From the lines that LYNXPP_CPU_COUNTERS names, in the order of the kernels' first launches. Failure: a
/// line is not understood.
Result<std::vector<ModelledKernel>> read_modelled(const std::string& lines);

/// Runs a program once on the cpu device with a machine's clock. `kernels`: a regular expression that the
/// mangled or the demangled name has to contain; empty: all. Failure: the program cannot be started or fails,
/// or there is no such kernel with a modelled time.
Result<std::vector<ModelledKernel>> run_modelled(const std::vector<std::string>& command,
                                                 const std::string& machine, const std::string& kernels,
                                                 models::clock::CachesBefore caches);

}  // namespace lynxpp::cli
