// The modelled time of launches (LYNXPP_CPU_CLOCK=MACHINE, docs/design/modelled-time.md): off unless the
// variable names a machine. Kernels then run one at a time, on the thread that executes the launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "device/cpu/simt/execute/executor.h"
#include "models/clock/kernel_time.h"
#include "models/machine.h"

namespace lynxpp::device::cpu {

/// Returns the machine in LYNXPP_CPU_CLOCK, which is read once; null if no time is modelled. An unknown name
/// is logged once.
const models::Machine* modelled_machine();

/// Returns the modelled seconds since the process began: kernels and the gaps before them; nothing else takes
/// time. 0 without a machine. Thread safe.
double modelled_seconds();

/// True if a launch's time can be modelled: a machine is chosen and a block fits on its multiprocessors. A
/// block that does not fit is logged once per kernel.
bool is_modelled(LoadedModule& module, const std::string& kernel, const LaunchShape& shape);

/// Returns the resident blocks of `threads` threads with `shared_bytes` dynamic shared memory on a
/// multiprocessor of the modelled machine, or else of the cpu device; 0 if none fits.
int blocks_of_multiprocessor(const KernelInfo& info, int threads, std::size_t shared_bytes);

/// Same as LoadedModule::launch(), and models the launch's time if is_modelled(), or checks the launch if the
/// program selects checks (checks.h). Thread safe.
Status launch_with_clock(LoadedModule& module, const std::string& kernel, const LaunchShape& shape,
                         std::span<const std::byte> parameters, LaunchCounters* counters,
                         std::optional<models::clock::KernelTime>& time);

}  // namespace lynxpp::device::cpu
