// CuMAPz's memory performance estimate and its factors.
//
// Kim and Shrivastava, "Memory Performance Estimation of CUDA Programs", equations 1 to 8. Where the printed
// equations cannot be meant, this is what they are taken for:
//
//   1  without fetches there is nothing to divide: the factor is 1
//   2  without fetches occupancy alone
//   3  fetches are references to global memory, too. Lanes of an access group that want one element ask for
//      its bytes once, else the factor would pass 1, and a matrix product's first matrix, which the paper
//      calls not coalesced, would be the best that there is
//   4  rounded up, one block for each channel at least (execution.cpp)
//   5  printed, equal counts get the worst value, so that an even spread is as bad as one channel. Here: the
//      larger of max / min (of the channels that are used) and channels / used channels; for each reference
//      by itself, weighted by the bytes that it moves, and over all rounds of loops: blocks do not stay in
//      step, so that what one round's accesses would do to the channels together is not what happens
//   6  printed, requests are half warps times buffers, so that a kernel with one conflict in all has more
//      than 1, and loops make it depend on the size of the input. Here: requests that were made, over how
//      many times they were served one after the other
//   7  printed, the sum over buffers divides by their number, against Figure 7(d). Here a warp diverges at a
//      reference when some of its lanes find their data in any buffer and others in none; over the executions
//
// Terms for what the paper leaves to future work, in its spirit; each is 1 where a kernel has none of it:
//
//   9  arith_hiding = (1 + min(1, I * issue / latency))^½, where I is how many instructions of arithmetic a
//      warp has for each of its requests to global memory. Its note 3: independent arithmetic hides latency,
//      too. Equation 2 takes the root of the loads that are under way together; what arithmetic covers of one
//      load's latency counts as that share of another load, and never more than the latency that there is
//  10  tex_reuse = bytes asked for / bytes of the lines that the texture cache did not hold. As equations 1
//      and 3 in one: the cache both reuses and moves more than is wanted. Alignment does not matter to it, so
//      that these references are in neither of those. A block has its share of the cache, the lines used last
//      stay
//  11  const_eff = requests / times served, its root as of equation 6: the constant cache gives all lanes of
//      an access group one element at a time
#pragma once

#include <cstdint>

#include "models/cumapz/execution.h"

namespace lynxpp::models::cumapz {

struct Terms {
  double data_reuse = 1;           ///< equation 1: bytes found in shared memory for each byte fetched
  double latency_hiding = 1;       ///< equation 2
  double bandwidth_use = 1;        ///< equation 3: requested over transferred bytes, 0 to 1
  double channel_skew = 1;         ///< equation 5: 1 (even) to the number of channels, and more
  double shared_efficiency = 1;    ///< equation 6: 0 to 1
  double branch_efficiency = 1;    ///< equation 7: 0.5 to 1
  double arithmetic_hiding = 1;    ///< equation 9: 1 to the root of 2
  double texture_reuse = 1;        ///< equation 10
  double constant_efficiency = 1;  ///< equation 11: 0 to 1
  double estimate = 0;  ///< equation 8, times 9 to 11; the larger the better; compares variants of one kernel
  std::int64_t accesses = 0;         ///< of threads to arrays, textures and constants, fetches left out
  std::int64_t hits = 0;             ///< of these, found in shared memory
  std::int64_t global_accesses = 0;  ///< not found in shared memory, fetches included: the plain count
};

Terms terms_of(const Totals& totals, const Machine& machine);

/// What one reference adds to equation 5.
double skew_of(const ChannelUse& use, const Machine& machine);

}  // namespace lynxpp::models::cumapz
