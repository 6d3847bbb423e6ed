#include "interposer/launch_shape.h"

namespace lynxpp::interposer {

engine::LaunchShape shape_of(const device::Launch& launch) {
  constexpr std::uint32_t threads_per_warp = 32;
  engine::LaunchShape shape;
  shape.has_full_warps = launch.threads_per_block() % threads_per_warp == 0;
  shape.has_whole_rows = launch.block[0] % threads_per_warp == 0;
  return shape;
}

}  // namespace lynxpp::interposer
