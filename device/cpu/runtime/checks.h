// Checked launches (LYNXPP_CPU_CHECK, docs/checking.md): the selected checks and their findings.
//
// At the end of the program, the findings are written to stderr and, as JSON Lines, to the file named by
// LYNXPP_CPU_CHECK_OUTPUT: one object per finding, then one with the number of launches
// (docs/schema/check.schema.json).
#pragma once

#include <string>

#include "device/cpu/simt/check/finding.h"

namespace lynxpp::device::cpu {

/// Returns the checks in LYNXPP_CPU_CHECK, which is read once; null if nothing is checked. Unknown names are
/// logged once.
const CheckSelection* wanted_checks();

/// Adds the findings of a launch of `kernel`, a mangled name. Thread safe.
void keep_findings(const std::string& kernel, LaunchChecks checks);

/// Reports the findings and, if selected, memory that the program has not freed. Called once, at its end.
void report_checks();

}  // namespace lynxpp::device::cpu
