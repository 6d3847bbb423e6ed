#include "ptx/analysis/launch_shape.h"

namespace lynxpp::ptx {

LaunchShape shape_of(const std::uint32_t (&block)[3]) {
  constexpr std::uint32_t warp_lanes = 32;
  const std::uint64_t threads = std::uint64_t{block[0]} * block[1] * block[2];
  return {threads % warp_lanes == 0, block[0] % warp_lanes == 0};
}

}  // namespace lynxpp::ptx
