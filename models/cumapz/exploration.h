// Alternative implementations of a described kernel, derived automatically: the fetched references, padding
// and layout of shared arrays, thread block size, order of thread indices, and block order.
//
//   const Result<Exploration> found = explore(*description, {}, *machine);
//   found->alternatives.front().changes;  // {{"pad(tile)", "1"}}, the best
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/cumapz/bounds.h"
#include "models/cumapz/terms.h"

namespace lynxpp::models::cumapz {

/// One implementation of the kernel.
struct Alternative {
  /// Differences from the description, by name; empty for the original:
  ///   fetch(tile)   another reference to the same array, or "nothing"
  ///   pad(tile)     elements after each row of a shared array
  ///   layout(tile)  "columns": the shared array is in column-major order
  ///   threads       "swapped": threadIdx.x and threadIdx.y, for square thread blocks
  ///   blocks        "diagonal": the order of thread blocks
  ///   TILE          a constant that determines the size of a thread block: half or twice as large
  std::vector<std::pair<std::string, std::string>> changes;
  Variant variant;
  Totals totals;
  Terms terms;
  std::optional<Bounds> bounds;  ///< if the machine has caches

  /// Figure of merit, larger is better: executions per cycle by the bounds on a machine with caches,
  /// otherwise CuMAPz's estimate.
  double merit() const { return bounds ? 1 / bounds->cycles() : terms.estimate; }
};

/// Evaluates one variant. Fails as `execute` does.
Result<Alternative> alternative_of(const Description& description, Variant variant, const Machine& machine);

struct Exploration {
  std::vector<Alternative> alternatives;  ///< best first
  std::int64_t left_out = 0;              ///< those that do not fit the machine or change the accesses
  /// True if all were tried; otherwise there are too many, and a greedy search started from each variant.
  bool is_complete = true;
};

/// Evaluates every combination of the changes and of the description's choices, up to 1,000; beyond that,
/// searches greedily. A change must preserve the number of accesses. Fails as `variants_of` and `execute` do
/// for the original description.
Result<Exploration> explore(const Description& description, const std::map<std::string, std::int64_t>& given,
                            const Machine& machine);

}  // namespace lynxpp::models::cumapz
