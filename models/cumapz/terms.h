// CuMAPz's memory performance estimate and its factors.
//
// Kim and Shrivastava, "Memory Performance Estimation of CUDA Programs", equations 1 to 8. Interpretations of
// printed equations that cannot be intended:
//
//   1  without fetches there is nothing to divide: the factor is 1
//   2  without fetches, only occupancy
//   3  fetches are references to global memory, too. Lanes of an access group that access the same element
//      request its bytes once; otherwise the factor would exceed 1, and a matrix product's first matrix,
//      which the paper calls not coalesced, would be optimal
//   4  rounded up, at least one block per channel (execution.cpp)
//   5  printed, equal counts get the worst value, so that an even spread is as bad as one channel. Here: the
//      larger of max / min (over the used channels) and channels / used channels; for each reference
//      separately, weighted by its transferred bytes, and over all rounds of loops: blocks do not run in
//      lockstep, so the combined effect of one round's accesses on the channels does not occur
//   6  printed, requests are half warps times buffers, so that a kernel with a single conflict has more than
//      1, and loops make it depend on the size of the input. Here: actual requests, divided by the number of
//      sequential turns
//   7  printed, the sum over buffers is divided by their number, contrary to Figure 7(d). Here a warp
//      diverges at a reference if some of its lanes find their data in any buffer and others in none;
//      relative to the executions
//
// Additional terms for the paper's future work, in its spirit; each is 1 if it does not apply to a kernel:
//
//   9  arith_hiding = (1 + min(1, I * issue / latency))^½, where I is the number of a warp's arithmetic
//      instructions per request to global memory. Note 3: independent arithmetic hides latency, too. Equation
//      2 takes the root of the number of concurrent loads; the part of one load's latency that arithmetic
//      covers counts as that share of another load, and never more than the latency
//  10  tex_reuse = requested bytes / bytes of lines that missed the texture cache. Combines equations 1 and
//      3: the cache both reuses data and transfers more than requested. Alignment does not matter for it, so
//      these references are in neither of those. A block has its share of the cache, with LRU replacement
//  11  const_eff = requests / sequential turns, its root as in equation 6: the constant cache serves one
//      element to all lanes of an access group at a time
#pragma once

#include <cstdint>

#include "models/cumapz/execution.h"

namespace lynxpp::models::cumapz {

struct Terms {
  double data_reuse = 1;           ///< equation 1: bytes found in shared memory per byte fetched
  double latency_hiding = 1;       ///< equation 2
  double bandwidth_use = 1;        ///< equation 3: requested over transferred bytes, 0 to 1
  double channel_skew = 1;         ///< equation 5: 1 (even) to the number of channels, and more
  double shared_efficiency = 1;    ///< equation 6: 0 to 1
  double branch_efficiency = 1;    ///< equation 7: 0.5 to 1
  double arithmetic_hiding = 1;    ///< equation 9: 1 to the root of 2
  double texture_reuse = 1;        ///< equation 10
  double constant_efficiency = 1;  ///< equation 11: 0 to 1
  double estimate = 0;  ///< equation 8, times 9 to 11; larger is better; compares variants of one kernel
  std::int64_t accesses = 0;         ///< of threads to arrays, textures and constants, excluding fetches
  std::int64_t hits = 0;             ///< accesses whose data is in shared memory
  std::int64_t global_accesses = 0;  ///< not found in shared memory, including fetches: the plain count
};

Terms terms_of(const Totals& totals, const Machine& machine);

/// One reference's contribution to equation 5.
double skew_of(const ChannelUse& use, const Machine& machine);

}  // namespace lynxpp::models::cumapz
