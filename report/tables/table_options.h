// Options of the tables of a run.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace lynxpp::report {

struct TableOptions {
  std::function<void(std::string_view)> write;  ///< receives the whole text, once, at finish()
  std::size_t width = 100;    ///< characters per line; wider tables lose digits and parts of names first
  bool is_whole = false;      ///< true: every row, element and site; false: the first ones
  bool has_findings = false;  ///< append findings to the tables
};

}  // namespace lynxpp::report
