// The findings of checked launches (LYNXPP_CPU_CHECK, docs/checking.md).
//
// At the end of the program, the findings are written to stderr and, as JSON Lines, to the file named by
// LYNXPP_CPU_CHECK_OUTPUT: one object per finding, then one with the number of launches
// (docs/schema/check.schema.json).
#pragma once

#include <string>

#include "device/cpu/simt/check/finding.h"

namespace lynxpp::device::cpu {

/// Adds the findings of a launch of `kernel`, a mangled name. Thread safe.
void keep_findings(const std::string& kernel, LaunchChecks checks);

/// Reports the findings and, if selected, memory that the program has not freed. Called once, at its end.
void report_checks();

}  // namespace lynxpp::device::cpu
