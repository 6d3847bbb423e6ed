// The table sink with a custom destination and width; make_table_sink() of report/record.h writes to stderr.
#pragma once

#include <cstddef>
#include <memory>

#include "report/record.h"
#include "report/tables/table_options.h"

namespace lynxpp::report {

/// Returns COLUMNS if it is set, else the width of the terminal at `descriptor`, else 100; at least 60.
std::size_t terminal_width(int descriptor);

std::unique_ptr<Sink> make_table_sink(TableOptions options);

}  // namespace lynxpp::report
