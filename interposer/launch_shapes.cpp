#include "interposer/launch_shapes.h"

namespace lynxpp::interposer {
namespace {

constexpr std::uint32_t threads_per_warp = 32;
/// Grids of so many waves of blocks, or fewer, have few (docs/measurements/2026-11-22-h200-overhead.md).
constexpr std::uint64_t few_waves = 1;

}  // namespace

engine::LaunchShape LaunchShapes::of(device::Device& device, const device::Launch& launch) {
  const Question question{&device, launch.function, launch.threads_per_block(), launch.shared_bytes};
  if (asked_ != question) {
    const std::optional<device::KernelResources> original = device.resources(launch, nullptr);
    blocks_at_a_time_ = original ? std::uint64_t{original->blocks_per_sm} * device.info().multiprocessors : 0;
    asked_ = question;
  }
  engine::LaunchShape shape;
  shape.has_full_warps = launch.threads_per_block() % threads_per_warp == 0;
  shape.has_whole_rows = launch.block[0] % threads_per_warp == 0;
  shape.has_few_waves = launch.blocks() <= few_waves * blocks_at_a_time_;
  return shape;
}

}  // namespace lynxpp::interposer
