// What is known of the launches a variant will be used for. Every variant is right for all launches that have
// its shape.
#pragma once

#include <cstdint>

namespace lynxpp::ptx {

struct LaunchShape {
  /// A thread block's number of threads is a multiple of 32: every warp has 32 lanes.
  bool has_full_warps = false;
  /// %ntid.x is a multiple of 32, and so warps are full: each is 32 threads of one row of the thread block,
  /// and their %tid.x are a multiple of 32 plus their lane.
  bool has_whole_rows = false;
  /// %tid.y, %tid.z, %ctaid.y and %ctaid.z are 0.
  bool is_linear = false;
  /// The grid has at most most_few_threads threads.
  bool has_few_threads = false;
  static constexpr std::uint64_t most_few_threads = std::uint64_t{1} << 20;

  bool operator==(const LaunchShape&) const = default;
};

/// Of a launch of `grid` blocks of `block` threads, in x, y and z.
LaunchShape shape_of(const std::uint32_t (&grid)[3], const std::uint32_t (&block)[3]);

}  // namespace lynxpp::ptx
