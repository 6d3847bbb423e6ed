// Writes the counters of a unit's plan (InstrumentationUnit::counting) into its functions.
#pragma once

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::ptx {

Status write_counters(InstrumentationUnit& unit);

}  // namespace lynxpp::ptx
