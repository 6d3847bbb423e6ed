// When launches begin to be measured, and when that ends: LYNXPP_START.
#pragma once

#include <string>

#include "support/result.h"

namespace lynxpp {

struct StartCondition {
  enum class Kind {
    at_once,
    profiler,  ///< between the program's calls of cuProfilerStart and cuProfilerStop
    range,     ///< of threads that are in the range, or after some thread has started it
  };
  Kind kind = Kind::at_once;
  std::string range = {};  ///< its name

  /// "profiler", "range=NAME"; empty: at once. Failure: `option`, which the text is the value of.
  static Result<StartCondition> parse(const std::string& text, const std::string& option);

  /// "outside of …": of a launch that is not measured.
  std::string outside() const;
};

}  // namespace lynxpp
