// Extents of a launch.
#pragma once

#include <cstdint>
#include <optional>

namespace lynxpp::device::cpu {

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
};

struct LaunchShape {
  Dim3 grid, block;
  std::uint32_t shared_bytes = 0;    ///< dynamic
  bool cooperative = false;          ///< all blocks may wait for each other
  std::optional<Dim3> cluster = {};  ///< extents of a cluster in blocks; nullopt: no clusters
};

}  // namespace lynxpp::device::cpu
