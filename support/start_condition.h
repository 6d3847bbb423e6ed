// The condition under which launches are measured: LYNXPP_START.
#pragma once

#include <string>

#include "support/result.h"

namespace lynxpp {

struct StartCondition {
  enum class Kind {
    at_once,
    profiler,  ///< between the program's calls of cuProfilerStart and cuProfilerStop
    range,     ///< in threads that are in the range, or in all threads once some thread has started it
  };
  Kind kind = Kind::at_once;
  std::string range = {};  ///< name of the range

  /// Parses "profiler" or "range=NAME"; empty: at once. Fails with `option`, the option that the text belongs
  /// to.
  static Result<StartCondition> parse(const std::string& text, const std::string& option);

  /// Returns "outside of …", which describes a launch that is not measured.
  std::string outside() const;
};

}  // namespace lynxpp
