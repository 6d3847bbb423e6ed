// Kernel times from the cpu device's clock.
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

/// The launches of one kernel; all values are modelled.
struct ModelledKernel {
  std::string kernel;  ///< mangled
  std::uint64_t launches = 0;
  std::uint64_t untimed = 0;  ///< launches that do not fit the machine or have no time
  /// All launches: counts, cycles and seconds are sums, blocks and warps those of the first launch.
  models::clock::KernelTime time;
  /// The first launch's traffic.
  models::clock::Traffic traffic;
};

/// Parses lines of the file that LYNXPP_CPU_COUNTERS names; kernels are in the order of their first launches.
/// Fails if a line is invalid.
Result<std::vector<ModelledKernel>> read_modelled(const std::string& lines);

/// Runs a program once on the cpu device with a machine's clock. `kernels`: a regular expression that is
/// searched in the mangled and the demangled name; empty: all. Fails if the program cannot be started or
/// fails, or if no such kernel has a modelled time.
Result<std::vector<ModelledKernel>> run_modelled(const std::vector<std::string>& command,
                                                 const std::string& machine, const std::string& kernels,
                                                 models::clock::CachesBefore caches);

}  // namespace lynxpp::cli
