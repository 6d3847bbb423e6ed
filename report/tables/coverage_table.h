// What was not instrumented, and where PTX was found: a section of the table of a run.
#pragma once

#include <string>

#include "report/summary.h"
#include "report/tables/table_sink.h"

namespace lynxpp::report {

/// The table of kernels with uninstrumented launches, with reasons and what is known of them anyway, places
/// of PTX outside the program image, and notes; empty if there is nothing to say.
std::string render_coverage(const Summary& summary, const TableOptions& options);

}  // namespace lynxpp::report
