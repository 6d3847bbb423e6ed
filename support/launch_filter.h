// Selects launches of each kernel.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/result.h"

namespace lynxpp {

/// "0-9,100,200-". Empty: every launch. Indices count from 0 for each kernel.
class LaunchFilter {
 public:
  /// Fails with `option`, the option that the text belongs to, and the part that is neither a number nor a
  /// range.
  static Result<LaunchFilter> parse(const std::string& text, const std::string& option);
  bool wants(std::uint64_t launch) const;

 private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_;  // inclusive
};

}  // namespace lynxpp
