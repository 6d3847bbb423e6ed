// The thread blocks that one host thread runs at a time, cluster by cluster (of one block where the launch
// has none). A cluster that waits for others of its grid gives way to them, up to the number that the
// device's occupancy promises, and to one where it promises less.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/cpu/simt/execute/clusters.h"

namespace lynxpp::device::cpu {

class ResidentBlocks {
 public:
  /// `counts` may be null. Both outlive this object.
  ResidentBlocks(LaunchState& launch, std::uint32_t worker, WorkerCounts* counts)
      : launch_(launch), worker_(worker), counts_(counts) {}

  /// Takes clusters from the launch until none is left or something failed.
  Status run();

 private:
  /// The next cluster of the launch becomes the first of `running_`. False when none is left.
  Result<bool> start_cluster();
  Status run_first();

  LaunchState& launch_;
  const std::uint32_t worker_;
  WorkerCounts* const counts_;
  std::uint32_t rounds_ = 0;  ///< that clusters have had which were not finished by them
  std::vector<std::unique_ptr<ClusterRunner>> running_;  ///< the first one's turn it is
  std::vector<std::unique_ptr<ClusterRunner>> idle_;     ///< kept for their memory
};

/// A kernel that does not end says where it is, at intervals that double.
void report_running(LaunchState& launch, const BlockRunner& block);
/// Reports once where a checked kernel was when the program's end interrupted it.
void report_abandoned(LaunchState& launch, const BlockRunner& block);

}  // namespace lynxpp::device::cpu
