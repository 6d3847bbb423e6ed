// CuMAPz's quantities from what a kernel really accessed, instead of from a description.
//
//   const Totals totals = totals_of(observation, machine, registers).totals;
//   const Terms terms = terms_of(totals, machine);  // the same function as for descriptions
//
// A load whose value goes unchanged to shared memory is a fetch, with the store that takes it there. A read
// or write of an element that a fetch has brought is an access that found its data in shared memory. Loads of
// which one or the other gives the value that is used are one reference, and a warp diverges at it when some
// of its lanes read shared memory and others global memory.
#pragma once

#include "models/accesses.h"
#include "models/cumapz/execution.h"

namespace lynxpp::models::cumapz {

/// Its note 3, which it leaves to future work: arithmetic that other warps have while an access waits.
struct ObservedArithmetic {
  std::int64_t instructions = 0;  ///< executed by warps
  std::int64_t accesses = 0;      ///< of warps to global memory
  double per_access = 0;
  /// Instructions of all warps that are on a multiprocessor together, for each access: the latency that is
  /// hidden is up to as many issues long.
  double of_resident_warps = 0;
};

struct ObservedTotals {
  Totals totals;                             ///< references by AccessSite::reference
  std::vector<std::uint32_t> sites;          ///< of each reference its first site
  std::vector<std::uint32_t> channel_sites;  ///< likewise, of each of Totals::channel_uses
  ObservedArithmetic arithmetic;
  std::int64_t divided = 0;       ///< executions of accesses by only a part of the warp's threads
  std::int64_t executions = 0;    ///< of accesses by warps
  bool has_first_blocks = false;  ///< the blocks of equation 4 were all observed, or none are needed
  std::uint64_t steps = 0;        ///< lanes that were looked at: what the analysis took
};

/// Of the observed blocks; nothing is scaled up. `registers` of a thread; 0: they limit nothing. Failure: a
/// block does not fit on the machine.
Result<ObservedTotals> totals_of(const Observation& observation, const Machine& machine,
                                 std::uint32_t registers);

}  // namespace lynxpp::models::cumapz
