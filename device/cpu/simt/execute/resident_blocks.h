// The thread blocks that one host thread runs at a time. A block that waits for others of its grid gives way
// to them, up to the number that the device's occupancy promises.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/cpu/simt/execute/scheduler.h"

namespace lynxpp::device::cpu {

class ResidentBlocks {
 public:
  /// `counts` may be null. Both outlive this object.
  ResidentBlocks(LaunchState& launch, std::uint32_t worker, WorkerCounts* counts)
      : launch_(launch), worker_(worker), counts_(counts) {}

  /// Takes blocks from the launch until none is left or something failed.
  Status run();

 private:
  /// The next block of the launch becomes the first of `running_`. False when none is left.
  Result<bool> start_block();
  Status run_first();

  LaunchState& launch_;
  const std::uint32_t worker_;
  WorkerCounts* const counts_;
  std::vector<std::unique_ptr<BlockRunner>> running_;  ///< the first one's turn it is
  std::vector<std::unique_ptr<BlockRunner>> idle_;     ///< kept for their memory
};

/// A kernel that does not end says where it is, at intervals that double.
void report_running(LaunchState& launch, const BlockRunner& block);

}  // namespace lynxpp::device::cpu
