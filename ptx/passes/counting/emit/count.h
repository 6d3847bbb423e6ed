// Writes the counters of a unit's plan (InstrumentationUnit::counting) into its functions.
#pragma once

#include <memory>

#include "ptx/passes/pass.h"

namespace lynxpp::ptx {

std::unique_ptr<Pass> make_count_pass();

}  // namespace lynxpp::ptx
