// Kernels that were not instrumented, and where PTX was found: a section of the table of a run.
#pragma once

#include <string>

#include "report/summary.h"
#include "report/tables/table_options.h"

namespace lynxpp::report {

/// Returns the table of kernels with uninstrumented launches, with reasons and known facts, origins
/// of PTX outside the program image, and notes; empty if there is nothing to report.
std::string render_coverage(const Summary& summary, const TableOptions& options);

}  // namespace lynxpp::report
