// Finds thread blocks that behave like others.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/cumapz/description.h"

namespace lynxpp::models::cumapz {

/// Indices of blocks in one dimension, `begin` to before `end`, whose behaviour repeats with `period`.
struct Segment {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t period = 1;  ///< 1 to end - begin
};

/// Determines exactly, for each dimension of the grid, which blocks repeat others at other addresses; the
/// segments cover all blocks without gaps.
///
/// A segment ends where a comparison of values that are linear in blockIdx changes its result: for a > b, the
/// blocks where it is false for all threads and loops, each block where these may differ, and those where it
/// is true are separate. Within a segment, no condition depends on blockIdx, every index of an array in
/// global memory moves by the same amount from block to block, and indices in shared memory are constant; the
/// period is the number of blocks for a move by a multiple of the largest transaction. If blockIdx is used in
/// another way, the dimension is one segment whose blocks all differ. For `if (blockIdx.x * 16 + threadIdx.x
/// > 0) read a[…];` in a grid of 8 and blocks of 16, the segments are 0 and 1 to 7.
std::array<std::vector<Segment>, 3> segments_of(const Description& description, const Variant& variant);

}  // namespace lynxpp::models::cumapz
