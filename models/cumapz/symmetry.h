// Finds thread blocks that behave like others.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "models/cumapz/description.h"

namespace lynxpp::models::cumapz {

/// Indices of blocks in one dimension, `begin` to before `end`, whose behaviour repeats with `period`.
struct Segment {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t period = 1;  ///< 1 to end - begin
};

/// Which thread blocks repeat others.
struct Symmetry {
  std::array<std::vector<Segment>, 3> segments;
  /// True if references to one array in global memory move differently from block to block. Then the
  /// segments' periods hold only while no reference meets another one: kinds_of() finds out where.
  bool moves_differ = false;
  std::array<bool, 3> all_differ{};  ///< by dimension: no block repeats another
  /// By element of an array in global memory, in elements per block in each dimension.
  std::map<const Element*, std::array<std::int64_t, 3>> moves;
};

/// Determines exactly, for each dimension of the grid, which blocks repeat others at other addresses; the
/// segments cover all blocks without gaps.
///
/// A segment ends where a comparison of values that are linear in blockIdx changes its result: for a > b,
/// the blocks where it is false for all threads and loops, each block where these may differ, and those
/// where it is true are separate. Within a segment, no condition depends on blockIdx, every index of an
/// array in global memory moves by a constant amount from block to block, and indices in shared memory are
/// constant; the period is the number of blocks for a move by a multiple of the largest transaction. If
/// blockIdx is used in another way, the dimension is one segment whose blocks all differ. For `if
/// (blockIdx.x * 16 + threadIdx.x > 0) read a[…];` in a grid of 8 and blocks of 16, the segments are 0 and 1
/// to 7.
Symmetry symmetry_of(const Description& description, const Variant& variant);

/// The elements that references with one move access in the first of some blocks.
struct MovingElements {
  std::uint32_t array = 0;
  std::int64_t bytes = 0;  ///< of an element
  std::array<std::int64_t, 3> move{};
  std::vector<std::int64_t> elements;  ///< ascending, distinct
};
struct BlockKind {
  std::array<std::int64_t, 3> first{};  ///< one of its blocks
  std::int64_t blocks = 0;
};
/// Divides blocks, one segment in each dimension, into kinds. Blocks of a kind have the same addresses modulo
/// the largest transaction; and of two references that move differently, each is at the same distance from
/// the other, or they have no transaction in common.
std::vector<BlockKind> kinds_of(const std::array<Segment, 3>& blocks,
                                const std::vector<MovingElements>& accessed);

}  // namespace lynxpp::models::cumapz
