// The checks that LYNXPP_CPU_CHECK selects, and the orders that LYNXPP_CPU_CHECK_SCHEDULES and
// LYNXPP_CPU_CHECK_SEED select (docs/checking.md). They are read once; invalid values are logged.
#pragma once

#include <cstdint>
#include <vector>

#include "device/cpu/simt/check/finding.h"

namespace lynxpp::device::cpu {

/// Returns the checks of launches; null if no launch is checked.
const CheckSelection* wanted_checks();

/// Returns the seeds of the orders in which launches are judged; {1} if only the usual one is.
const std::vector<std::uint32_t>& wanted_seeds();

/// True if memory that the program has not freed is reported.
bool wants_leaks();

}  // namespace lynxpp::device::cpu
