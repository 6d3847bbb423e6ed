// The table sink with a destination and a width of one's own; make_table_sink() of report/record.h is this on
// stderr.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "report/record.h"

namespace lynxpp::report {

struct TableOptions {
  std::function<void(std::string_view)> write;  ///< receives the whole text, once, at finish()
  std::size_t width = 100;  ///< characters a line may have; wider tables lose digits and parts of names first
  bool is_whole = false;    ///< every row, element and place; else the first ones
  bool has_findings = false;  ///< what rules make of the records, behind the tables
};

/// COLUMNS when it is set, else the width of the terminal `descriptor` leads to, else 100; at least 60.
std::size_t terminal_width(int descriptor);

std::unique_ptr<Sink> make_table_sink(TableOptions options);

}  // namespace lynxpp::report
