#include "device/cpu/simt/execute/counters/timed_launch.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "device/cpu/simt/execute/order/resident_blocks.h"
#include "device/cpu/simt/execute/order/scheduler.h"

namespace lynxpp::device::cpu {
namespace {

/// The blocks of a launch that are resident on the modelled device.
class TimedGrid final : public models::clock::Grid {
 public:
  TimedGrid(LaunchState& launch, std::size_t places, WorkerCounts* counts)
      : launch_(launch), counts_(counts), blocks_(places) {}

  Status begin(std::uint64_t block, std::uint32_t place, std::uint32_t multiprocessor) override {
    std::unique_ptr<BlockRunner>& runner = blocks_[place];
    if (runner == nullptr) runner = std::make_unique<BlockRunner>(launch_, counts_);
    return runner->start(block, multiprocessor);
  }

  Result<More> advance(std::uint32_t place, std::uint32_t warp, double cycles,
                       models::clock::Steps& steps) override {
    if (launch_.stops()) return failure("the program ended while the kernel was running");
    BlockRunner& block = *blocks_[place];
    report_running(launch_, block);
    switch (block.run_slice(warp, cycles, steps)) {
      case BlockRunner::Turn::again: return More::steps;
      case BlockRunner::Turn::blocked: return More::waits;
      case BlockRunner::Turn::finished: return More::ended;
      case BlockRunner::Turn::failed: break;
    }
    return block.problem();
  }

  Failure why_stuck(std::uint32_t place) override {
    BlockRunner& block = *blocks_[place];
    if (block.run_round() == BlockRunner::Turn::failed) return block.problem();
    return failure("internal error: modelled time ended before all warps of the kernel");
  }

 private:
  LaunchState& launch_;
  WorkerCounts* const counts_;
  std::vector<std::unique_ptr<BlockRunner>> blocks_;  ///< by slot on the device
};

}  // namespace

Status run_timed(LaunchState& launch, LaunchClock& clock, std::uint32_t resident_blocks,
                 WorkerCounts* counts) {
  const models::Timing& timing = *clock.device.machine().timing;
  const StepTable table(*launch.program, timing.arithmetic);
  launch.clock = &clock;
  launch.steps = &table;
  launch.multiprocessors = timing.multiprocessors;
  TimedGrid grid(launch, std::size_t{timing.multiprocessors} * resident_blocks, counts);
  const models::clock::KernelShape shape{launch.blocks(), (launch.threads() + warp_size - 1) / warp_size,
                                         resident_blocks};
  Result<models::clock::KernelTime> time = clock.device.run(shape, grid);
  launch.clock = nullptr;
  launch.steps = nullptr;
  if (!time) return std::move(time.error());
  clock.last = std::move(*time);
  return success();
}

}  // namespace lynxpp::device::cpu
