// The thread blocks of a cluster, which one host thread runs together: each has its turn before any has
// another one, so that they may wait for each other. A block without a cluster is one of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/cpu/simt/execute/scheduler.h"

namespace lynxpp::device::cpu {

class ClusterRunner {
 public:
  /// `counts` may be null. Both outlive the runner.
  ClusterRunner(LaunchState& launch, WorkerCounts* counts);

  using Turn = BlockRunner::Turn;

  /// Sets out to run the cluster of this number, on the multiprocessor of that. To be called again once a
  /// cluster is finished.
  Status start(std::uint64_t cluster, std::uint32_t multiprocessor);
  /// Gives every block a turn. Never `blocked`: a cluster none of whose blocks can go on has failed.
  Turn run_round();
  const Failure& problem() const { return blocks_[failed_]->problem(); }

  /// As of BlockRunner: rounds in which every block may have waited for something outside.
  std::uint32_t waiting_rounds() const;
  void wait_anew();
  /// A block that is not finished; the first one when all are.
  const BlockRunner& block() const;

 private:
  LaunchState& launch_;
  std::vector<std::unique_ptr<BlockRunner>> blocks_;  ///< by rank
  std::vector<bool> finished_;
  std::size_t failed_ = 0;
  AlignedBuffer shared_;  ///< of all of them
  ClusterSeat seat_;
  ClusterKnowledge knowledge_;  ///< of a launch that is checked
};

}  // namespace lynxpp::device::cpu
