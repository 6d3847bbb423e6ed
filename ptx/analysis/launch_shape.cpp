#include "ptx/analysis/launch_shape.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t warp_lanes = 32;

std::uint64_t product_of(const std::uint32_t (&extents)[3]) {
  return std::uint64_t{extents[0]} * extents[1] * extents[2];
}

bool is_row(const std::uint32_t (&extents)[3]) { return extents[1] == 1 && extents[2] == 1; }

}  // namespace

LaunchShape shape_of(const std::uint32_t (&grid)[3], const std::uint32_t (&block)[3]) {
  LaunchShape shape;
  shape.has_full_warps = product_of(block) % warp_lanes == 0;
  shape.has_whole_rows = block[0] % warp_lanes == 0;
  shape.is_linear = is_row(grid) && is_row(block);
  shape.has_few_threads = product_of(grid) <= LaunchShape::most_few_threads / product_of(block);
  return shape;
}

}  // namespace lynxpp::ptx
