// The path that most threads take through a kernel: it falls through bounds checks of an index that varies
// over thread blocks, and continues at the reconvergence point of any other branch. A wrong prediction costs
// only time.
//
// Events that threads on the path execute once are counted by a bit that is initially set and cleared there
// (Accumulator::Storage::cleared_bit): a warp whose lanes all take the path has nothing to flush.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/passes/counting/counters.h"
#include "ptx/passes/counting/flow/flow.h"

namespace lynxpp::ptx {

class ExpectedPath {
 public:
  /// `function` must outlive this object.
  ExpectedPath(const CountedFunction& function, const EdgeSites& sites);

  /// True if each thread on the path makes the increment.
  bool includes(const Increment& increment) const;

 private:
  const CountedFunction& function_;
  std::vector<std::uint32_t> next_;  ///< per block: the next block of the path
  std::vector<bool> is_on_path_;
};

}  // namespace lynxpp::ptx
