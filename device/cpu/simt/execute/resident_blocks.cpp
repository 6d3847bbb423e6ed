#include "device/cpu/simt/execute/resident_blocks.h"

#include <algorithm>
#include <thread>

#include "support/log.h"
#include "support/text.h"

namespace lynxpp::device::cpu {
namespace {

/// Rounds in which all warps of a block may have waited before the block yields to others. Loops that only
/// update memory look like waiting, and independent blocks run faster one after the other. Once blocks of a
/// launch have waited, they are likely to wait again.
constexpr std::uint32_t patient_rounds = 16;
constexpr std::uint32_t patient_rounds_of_waiting_blocks = 1;
/// Reading the clock in every round would take longer than a short round.
constexpr std::uint32_t rounds_between_reports = 16;

}  // namespace

Status ResidentBlocks::run() {
  for (;;) {
    if (running_.empty()) {
      const Result<bool> started = start_cluster();
      if (!started) return started.error();
      if (!*started) return success();
    }
    if (Status ran = run_first(); !ran) return ran;
    if (launch_.stops()) return success();
  }
}

Result<bool> ResidentBlocks::start_cluster() {
  const std::optional<std::uint64_t> cluster =
      launch_.queue->take(worker_, launch_.blocks_wait.load(std::memory_order_relaxed));
  if (!cluster) return false;
  std::unique_ptr<ClusterRunner> runner;
  if (idle_.empty()) {
    runner = std::make_unique<ClusterRunner>(launch_, counts_);
  } else {
    runner = std::move(idle_.back());
    idle_.pop_back();
  }
  if (Status started = runner->start(*cluster, worker_); !started) return started.error();
  running_.insert(running_.begin(), std::move(runner));
  return true;
}

/// Runs the first cluster until it finishes or yields.
Status ResidentBlocks::run_first() {
  const std::size_t most = std::max<std::size_t>(1, launch_.resident_blocks / launch_.cluster_blocks());
  for (;;) {
    ClusterRunner& cluster = *running_.front();
    const ClusterRunner::Turn turn = cluster.run_round();
    if (turn == ClusterRunner::Turn::failed) return cluster.problem();
    if (turn == ClusterRunner::Turn::finished) {
      idle_.push_back(std::move(running_.front()));
      running_.erase(running_.begin());
      return success();
    }
    if (launch_.stops()) {
      report_abandoned(launch_, cluster.block());
      return success();
    }
    if (++rounds_ % rounds_between_reports == 0) report_running(launch_, cluster.block());
    const bool have_waited = launch_.blocks_wait.load(std::memory_order_relaxed);
    if (cluster.waiting_rounds() <= (have_waited ? patient_rounds_of_waiting_blocks : patient_rounds))
      continue;
    const bool takes_more = running_.size() < most;
    if (running_.size() == 1 && !takes_more) {
      std::this_thread::yield();  // to the host, or to another worker
      continue;
    }
    launch_.blocks_wait.store(true, std::memory_order_relaxed);
    cluster.reset_waiting_rounds();
    std::rotate(running_.begin(), running_.begin() + 1, running_.end());
    if (!takes_more) return success();
    const Result<bool> started = start_cluster();
    return started ? success() : Status(started.error());
  }
}

void report_running(LaunchState& launch, const BlockRunner& block) {
  const std::chrono::steady_clock::duration running = std::chrono::steady_clock::now() - launch.report.begin;
  std::chrono::steady_clock::duration next = launch.report.next.load(std::memory_order_relaxed);
  if (running < next || !launch.report.next.compare_exchange_strong(next, 2 * running)) return;
  const std::uint32_t* const at = block.index();
  log().warn("kernel {} has been running for {} s; block ({}, {}, {}) is at {}:{}: {}",
             demangle(launch.program->functions[0].name),
             std::chrono::duration_cast<std::chrono::seconds>(running).count(), at[0], at[1], at[2],
             launch.name, block.line(), block.describe_waits());
}

void report_abandoned(LaunchState& launch, const BlockRunner& block) {
  if (launch.check == nullptr || !launches_abandoned() || launch.report.is_abandoned.exchange(true)) return;
  const std::uint32_t* const at = block.index();
  log().warn("kernel {} was interrupted; in block ({}, {}, {}) {}",
             demangle(launch.program->functions[0].name), at[0], at[1], at[2], block.describe_waits());
}

}  // namespace lynxpp::device::cpu
