// Runs the thread blocks of a cluster in turns on one host thread, so that they can wait for each other. A
// block without a cluster is a cluster of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/cpu/simt/execute/launch_state.h"
#include "device/cpu/simt/execute/memory/block_memory.h"
#include "device/cpu/simt/execute/order/scheduler.h"
#include "support/result.h"

namespace lynxpp::device::cpu {

class ClusterRunner {
 public:
  /// `counts` may be null. Both outlive the runner.
  ClusterRunner(LaunchState& launch, WorkerCounts* counts);

  using Turn = BlockRunner::Turn;

  /// Prepares to run cluster number `cluster` on a multiprocessor. Called again for the next cluster once all
  /// blocks are finished.
  Status start(std::uint64_t cluster, std::uint32_t multiprocessor);
  /// Gives every block a turn. Never returns `blocked`: a cluster with no runnable block has failed.
  Turn run_round();
  const Failure& problem() const { return blocks_[failed_]->problem(); }

  /// Returns the rounds in which every block may have waited for something outside (see BlockRunner).
  std::uint32_t waiting_rounds() const;
  void reset_waiting_rounds();
  // In launches with a schedule:

  /// Returns true if the cluster's turn passes without it.
  bool is_delayed();
  void end_delay() { delay_ = 0; }
  /// Returns the rounds that it runs before another cluster gets a turn; 0: until it waits.
  std::uint32_t choose_rounds();
  /// True if no block will do anything new unless memory changes.
  bool is_stuck() const;
  void perform_overdue();
  /// Fails because all clusters wait forever. `others`: describes other clusters; may be empty.
  void fail_stuck(const std::string& others);

  /// Returns an unfinished block; the first block if all are finished.
  const BlockRunner& block() const;

 private:
  bool all_wait_idly() const;
  bool is_block_delayed(std::size_t rank);
  std::size_t first_unfinished() const;
  Schedule& schedule() { return *launch_.schedule(); }

  LaunchState& launch_;
  std::vector<std::unique_ptr<BlockRunner>> blocks_;  ///< by rank
  std::vector<bool> finished_;
  std::size_t failed_ = 0;
  std::uint32_t delay_ = 0;                 ///< rounds before its next turn
  std::vector<std::uint32_t> delays_ = {};  ///< likewise, of its blocks
  AlignedBuffer shared_;                    ///< of all blocks
  ClusterSeat seat_;
  ClusterKnowledge knowledge_;  ///< checked launches only
};

}  // namespace lynxpp::device::cpu
