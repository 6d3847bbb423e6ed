// Other ways to write a described kernel, derived from the description by itself: what is fetched, how shared
// arrays are padded and laid out, the size of thread blocks, which index of threads comes first, the order of
// blocks.
//
//   const Result<Exploration> found = explore(*description, {}, *machine);
//   found->ways.front().changes;     // {{"pad(tile)", "1"}}, the best
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

/// One way to write the kernel.
struct Way {
  /// What differs from the description, by name: empty for the description as it is.
  ///   fetch(tile)   another reference to the same array, or "nothing"
  ///   pad(tile)     elements behind each row of a shared array
  ///   layout(tile)  "columns": the shared array holds column behind column
  ///   threads       "swapped": threadIdx.x and threadIdx.y, of square thread blocks
  ///   blocks        "diagonal": the order of thread blocks
  ///   TILE          a constant that the size of a thread block is made of: half or twice as large
  std::vector<std::pair<std::string, std::string>> changes;
  Variant variant;
  Totals totals;
  Terms terms;
  std::optional<Bounds> bounds;  ///< where the machine has caches

  /// The larger the better: on a machine with caches how often the kernel could run in a cycle, by its
  /// bounds; else CuMAPz's estimate.
  double merit() const { return bounds ? 1 / bounds->cycles() : terms.estimate; }
};

/// What one variant comes to. Fails as `execute` does.
Result<Way> way_of(const Description& description, Variant variant, const Machine& machine);

struct Exploration {
  std::vector<Way> ways;      ///< the best first
  std::int64_t left_out = 0;  ///< do not fit the machine, or do other accesses than the description
  /// Whether all were tried; else there are too many: from each variant on the best change, until none is
  /// better.
  bool is_complete = true;
};

/// Every combination of the changes and of the description's choices, up to 1,000; beyond that a search. A
/// change must leave the number of accesses as it is. Fails as `variants_of` and `execute` do on the
/// description itself.
Result<Exploration> explore(const Description& description, const std::map<std::string, std::int64_t>& given,
                            const Machine& machine);

}  // namespace lynxpp::models::cumapz
