// Thread blocks that do the same as others.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/cumapz/description.h"

namespace lynxpp::models::cumapz {

/// Indices of blocks in one dimension, `begin` to before `end`, where the same comes again after `period`.
struct Segment {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t period = 1;  ///< 1 to end - begin
};

/// For each dimension of the grid, which blocks repeat others at other addresses, exactly: from the
/// first to the last block, without gaps.
///
/// A segment ends where a comparison of values that are linear in blockIdx changes its result: for a >
/// b, the blocks where it fails for all threads and loops, each block where these may differ, and those
/// where it holds are apart. Within one, no condition depends on blockIdx, every index of an array in
/// global memory moves by the same from block to block, and indices in shared memory stay; the period
/// is what it takes to move by a multiple of the largest transaction. Where blockIdx enters in another
/// way, the dimension is one segment whose blocks all differ. For `if (blockIdx.x * 16 + threadIdx.x >
/// 0) read a[…];` in a grid of 8 and blocks of 16, the segments are 0 and 1 to 7.
std::array<std::vector<Segment>, 3> segments_of(const Description& description, const Variant& variant);

}  // namespace lynxpp::models::cumapz
