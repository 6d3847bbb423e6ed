// CuMAPz's totals from a kernel's observed accesses instead of a description.
//
//   const Totals totals = totals_of(observation, machine, registers).totals;
//   const Terms terms = terms_of(totals, machine);  // the same function as for descriptions
//
// A load whose value is stored unchanged to shared memory is a fetch, together with the store. A read or
// write of a fetched element is an access that finds its data in shared memory. Loads that are merged into
// one value are one reference, and a warp diverges at it if some of its lanes read shared memory and others
// global memory.
#pragma once

#include "models/accesses.h"
#include "models/cumapz/execution.h"

namespace lynxpp::models::cumapz {

/// Note 3 of the paper, which it leaves to future work: arithmetic of other warps during an access's latency.
struct ObservedArithmetic {
  std::int64_t instructions = 0;  ///< warp instructions
  std::int64_t accesses = 0;      ///< warp accesses to global memory
  double per_access = 0;
  /// Instructions of all warps resident on a multiprocessor per access: they hide up to that number of issue
  /// slots of latency.
  double of_resident_warps = 0;
};

struct ObservedTotals {
  Totals totals;                             ///< references by AccessSite::reference
  std::vector<std::uint32_t> sites;          ///< the first site of each reference
  std::vector<std::uint32_t> channel_sites;  ///< the same for Totals::channel_uses
  ObservedArithmetic arithmetic;
  std::int64_t partial = 0;       ///< executions of accesses by partial warps
  std::int64_t executions = 0;    ///< warp executions of accesses
  bool has_first_blocks = false;  ///< the blocks of equation 4 were all observed, or none are needed
  std::uint64_t steps = 0;        ///< lanes processed: cost of the analysis
};

/// Analyses the observed blocks, without extrapolation. `registers` is per thread; 0: not limiting. Fails if
/// a block does not fit on the machine.
Result<ObservedTotals> totals_of(const Observation& observation, const Machine& machine,
                                 std::uint32_t registers);

}  // namespace lynxpp::models::cumapz
