// The thread blocks that one host thread runs concurrently, cluster by cluster (a cluster is one block if the
// launch has none). A cluster that waits for others of its grid yields to them, up to the number that
// occupancy allows but at least one.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/cpu/simt/execute/launch_state.h"
#include "device/cpu/simt/execute/order/clusters.h"

namespace lynxpp::device::cpu {

class ResidentBlocks {
 public:
  /// `counts` may be null. Both outlive this object.
  ResidentBlocks(LaunchState& launch, std::uint32_t worker, WorkerCounts* counts)
      : launch_(launch), worker_(worker), counts_(counts) {}

  /// Takes clusters from the launch until none is left or one has failed.
  Status run();

 private:
  /// Inserts the launch's next cluster at the front of `running_`, with a schedule at the end. Returns false
  /// if none is left.
  Result<bool> start_cluster();
  Status run_first();
  std::size_t most_running() const;
  Status run_scheduled();
  Result<bool> run_turn(std::size_t index);
  Status end_turns();
  void finish(std::size_t index);

  LaunchState& launch_;
  const std::uint32_t worker_;
  WorkerCounts* const counts_;
  std::uint32_t rounds_ = 0;                             ///< rounds that did not finish their cluster
  std::vector<std::unique_ptr<ClusterRunner>> running_;  ///< the first one runs
  std::vector<std::unique_ptr<ClusterRunner>> idle_;     ///< kept to reuse their memory
};

/// Logs where a long-running kernel is, at intervals that double.
void report_running(LaunchState& launch, const BlockRunner& block);
/// Reports once where a checked kernel was when the program's end interrupted it.
void report_abandoned(LaunchState& launch, const BlockRunner& block);

}  // namespace lynxpp::device::cpu
