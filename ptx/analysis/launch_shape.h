// Properties of the launches that a variant may be used for. Every variant is correct for all launches of its
// shape.
#pragma once

#include <cstdint>

namespace lynxpp::ptx {

struct LaunchShape {
  /// The number of threads in a thread block is a multiple of 32: every warp has 32 lanes.
  bool has_full_warps = false;
  /// %ntid.x is a multiple of 32. Warps are therefore full, and each is 32 threads of one row of the thread
  /// block: their %tid.x is a multiple of 32 plus their lane.
  bool has_whole_rows = false;
  /// Bound of the number of threads in a thread block.
  std::uint32_t most_threads = 1024;

  bool operator==(const LaunchShape&) const = default;
};

/// Returns the shape of a launch of blocks of `block` threads, in x, y and z.
LaunchShape shape_of(const std::uint32_t (&block)[3]);

}  // namespace lynxpp::ptx
