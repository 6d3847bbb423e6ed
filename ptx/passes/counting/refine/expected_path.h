// The path that most threads take through a kernel: it falls through tests of the bounds of an index over all
// thread blocks, and from any other branch goes on at its reconvergence point. A wrong guess costs only time.
//
// What threads on the path do once is a bit that is set from the start and cleared there
// (Accumulator::Storage::cleared_bit): a warp whose lanes all take the path has nothing to flush.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/passes/counting/counters.h"
#include "ptx/passes/counting/flow/flow.h"

namespace lynxpp::ptx {

class ExpectedPath {
 public:
  /// The function outlives this.
  ExpectedPath(const CountedFunction& function, const EdgePlaces& places);

  /// Whether each thread on the path makes the increment.
  bool includes(const Increment& increment) const;

 private:
  const CountedFunction& function_;
  std::vector<std::uint32_t> next_;  ///< per block: where the path goes on
  std::vector<bool> is_on_path_;
};

}  // namespace lynxpp::ptx
