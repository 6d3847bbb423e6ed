// The checks that LYNXPP_CPU_CHECK selects (docs/checking.md). It is read once; unknown names are logged.
#pragma once

#include "device/cpu/simt/check/finding.h"

namespace lynxpp::device::cpu {

/// Returns the checks of launches; null if no launch is checked.
const CheckSelection* wanted_checks();

/// True if memory that the program has not freed is reported.
bool wants_leaks();

}  // namespace lynxpp::device::cpu
