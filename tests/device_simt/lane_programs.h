// Random programs whose lanes synchronize by `.sync` operations at different program points.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace lynxpp::device::cpu::test {

using LaneValues = std::array<std::uint32_t, 32>;

struct LaneProgram {
  std::string text;   ///< the kernel `test(.param .u64 out, .param .u64 side)`
  LaneValues side{};  ///< decides which branches the lanes take
  LaneValues expected{};
  int meetings = 0;  ///< operations that all their members execute, with loops unrolled
};

LaneProgram random_lane_program(std::uint32_t seed);

}  // namespace lynxpp::device::cpu::test
