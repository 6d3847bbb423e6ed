// Kinds of code that a kernel is compiled to.
#pragma once

#include <compare>

namespace lynxpp::device::cpu {

/// The instrumentation that code is compiled with.
struct CodeKind {
  bool counts = false;
  bool timed = false;     ///< for launches with a clock
  bool checked = false;   ///< for checked launches
  bool explored = false;  ///< for checked launches with a schedule
  auto operator<=>(const CodeKind&) const = default;
};

}  // namespace lynxpp::device::cpu
