// Which launches of each kernel are wanted.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/result.h"

namespace lynxpp {

/// "0-9,100,200-". Empty: every launch. Indices count per kernel, from 0.
class LaunchFilter {
 public:
  /// Failure: `option`, which the text is the value of, and what in it is no number and no range.
  static Result<LaunchFilter> parse(const std::string& text, const std::string& option);
  bool wants(std::uint64_t launch) const;

 private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_;  // inclusive
};

}  // namespace lynxpp
