#include "interposer/launch_shape.h"

namespace lynxpp::interposer {

engine::LaunchShape shape_of(const device::Launch& launch) {
  constexpr std::uint32_t threads_per_warp = 32;
  engine::LaunchShape shape;
  shape.has_full_warps = launch.threads_per_block() % threads_per_warp == 0;
  shape.has_whole_rows = launch.block[0] % threads_per_warp == 0;
  const auto is_row = [](const std::uint32_t(&extents)[3]) { return extents[1] == 1 && extents[2] == 1; };
  shape.is_linear = is_row(launch.grid) && is_row(launch.block);
  shape.has_few_threads =
      launch.blocks() <= engine::LaunchShape::most_few_threads / launch.threads_per_block();
  return shape;
}

}  // namespace lynxpp::interposer
