// The modelled time of launches (LYNXPP_CPU_CLOCK=MACHINE, docs/design/modelled-time.md): off unless that
// names a machine. Kernels then run one after the other, on the thread whose turn it is.
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

/// The machine that LYNXPP_CPU_CLOCK names when it is first asked for; null: no time is modelled. A name
/// that is none is logged, once.
const models::Machine* modelled_machine();

/// Modelled seconds since the process began: kernels and the gaps before them; nothing else takes time. 0
/// without a machine. Thread safe.
double modelled_seconds();

/// Whether a launch's time can be modelled: there is a machine, and a block fits its multiprocessors. One
/// that does not fit is logged, once for each kernel.
bool is_modelled(LoadedModule& module, const std::string& kernel, const LaunchShape& shape);

/// Resident blocks of `threads` threads with `shared_bytes` dynamic shared memory on one multiprocessor, of
/// the machine where there is one, else of the cpu device; 0 when one does not fit.
int blocks_of_multiprocessor(const KernelInfo& info, int threads, std::size_t shared_bytes);

/// As LoadedModule::launch(), with the launch's time where it is_modelled(), and checked where the program
/// wants that (checks.h). Thread safe.
Status launch_with_clock(LoadedModule& module, const std::string& kernel, const LaunchShape& shape,
                         std::span<const std::byte> parameters, LaunchCounters* counters,
                         std::optional<models::clock::KernelTime>& time);

/// Of code for launches of that shape.
CodeKind code_kind(LoadedModule& module, const std::string& kernel, const LaunchShape& shape);

}  // namespace lynxpp::device::cpu
