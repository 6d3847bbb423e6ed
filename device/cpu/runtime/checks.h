// Checked launches (LYNXPP_CPU_CHECK, docs/checking.md): which checks the program wants, and what they found.
//
// At the end of the program the findings go to stderr and, as JSON Lines, into the file that
// LYNXPP_CPU_CHECK_OUTPUT names: one object for each finding, then one with the number of launches
// (docs/schema/check.schema.json).
#pragma once

#include <string>

#include "device/cpu/simt/check/finding.h"

namespace lynxpp::device::cpu {

/// What LYNXPP_CPU_CHECK named when it was first asked for; null: nothing is checked. Names that are none are
/// logged, once.
const CheckSelection* wanted_checks();

/// Adds what a launch of `kernel`, a mangled name, has found. Thread safe.
void keep_findings(const std::string& kernel, LaunchChecks checks);

/// Says what was found, and what the program has not freed where it wants to know that. Once, at its end.
void report_checks();

}  // namespace lynxpp::device::cpu
