// The table sink with a custom destination and width; make_table_sink() of report/record.h writes to stderr.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "report/record.h"

namespace lynxpp::report {

struct TableOptions {
  std::function<void(std::string_view)> write;  ///< receives the whole text, once, at finish()
  std::size_t width = 100;    ///< characters per line; wider tables lose digits and parts of names first
  bool is_whole = false;      ///< true: every row, element and site; false: the first ones
  bool has_findings = false;  ///< append findings to the tables
};

/// Returns COLUMNS if it is set, else the width of the terminal at `descriptor`, else 100; at least 60.
std::size_t terminal_width(int descriptor);

std::unique_ptr<Sink> make_table_sink(TableOptions options);

}  // namespace lynxpp::report
