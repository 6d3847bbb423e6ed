#include "device/cpu/simt/execute/order/resident_blocks.h"

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
  if (launch_.schedule() != nullptr) return run_scheduled();
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
  running_.insert(launch_.schedule() != nullptr ? running_.end() : running_.begin(), std::move(runner));
  return true;
}

std::size_t ResidentBlocks::most_running() const {
  return std::max<std::size_t>(1, launch_.resident_blocks / launch_.cluster_blocks());
}

void ResidentBlocks::finish(std::size_t index) {
  idle_.push_back(std::move(running_[index]));
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(index));
}

/// Runs all clusters in turns, as the schedule chooses. They start in order, as on a GPU, but need not run at
/// once.
Status ResidentBlocks::run_scheduled() {
  bool has_more = true;
  for (;;) {
    // At least two, so that the first one need not run first.
    do {
      if (!has_more || running_.size() >= most_running()) break;
      const Result<bool> started = start_cluster();
      if (!started) return started.error();
      has_more = *started;
    } while (running_.size() < 2);
    if (running_.empty()) return success();
    const std::uint64_t changes = launch_.explored->changes;
    const std::size_t count = running_.size();
    for (std::size_t i = 0; i < running_.size();) {
      const Result<bool> finished = run_turn(i);
      if (!finished) return finished.error();
      if (launch_.stops()) return success();
      i += *finished ? 0 : 1;
    }
    const bool starts = has_more && running_.size() < most_running();
    if (running_.size() < count || starts || launch_.explored->changes != changes) continue;
    if (has_more && std::ranges::all_of(running_, [](const auto& each) { return each->is_stuck(); })) {
      launch_.explored->is_abandoned = true;  // on a larger device, waiting blocks may not be alone
      return success();
    }
    if (Status ended = end_turns(); !ended) return ended;
  }
}

/// Gives a cluster a turn. Returns true if it has finished and is no longer in `running_`.
Result<bool> ResidentBlocks::run_turn(std::size_t index) {
  ClusterRunner& cluster = *running_[index];
  if (running_.size() > 1 && cluster.is_delayed()) return false;
  const std::uint32_t rounds = cluster.choose_rounds();
  cluster.reset_waiting_rounds();
  for (std::uint32_t round = 1;; ++round) {
    const ClusterRunner::Turn turn = cluster.run_round();
    if (turn == ClusterRunner::Turn::failed) return cluster.problem();
    if (turn == ClusterRunner::Turn::finished) {
      finish(index);
      return true;
    }
    if (launch_.stops()) {
      report_abandoned(launch_, cluster.block());
      return false;
    }
    if (++rounds_ % rounds_between_reports == 0) report_running(launch_, cluster.block());
    const bool waits = cluster.waiting_rounds() > patient_rounds_of_waiting_blocks || cluster.is_stuck();
    if (round == rounds || waits) return false;
  }
}

/// Called when all running clusters have had a turn and nothing has changed.
Status ResidentBlocks::end_turns() {
  for (const auto& cluster : running_) cluster->end_delay();
  if (!std::ranges::all_of(running_, [](const auto& each) { return each->is_stuck(); })) return success();
  const std::uint64_t changes = launch_.explored->changes;
  for (const auto& cluster : running_) cluster->perform_overdue();
  if (launch_.explored->changes != changes) return success();
  if (launch_.explored->log->synchronizes_with_host()) {  // the host may change memory
    launch_.explored->is_abandoned = true;
    return success();
  }
  std::string others;
  for (std::size_t i = 1; i < std::min<std::size_t>(running_.size(), 4); ++i) {
    const BlockRunner& block = running_[i]->block();
    others += "; in block (" + std::to_string(block.index()[0]) + ", " + std::to_string(block.index()[1]) +
              ", " + std::to_string(block.index()[2]) + ") " + block.describe_waits();
  }
  running_.front()->fail_stuck(others);
  return running_.front()->problem();
}

/// Runs the first cluster until it finishes or yields.
Status ResidentBlocks::run_first() {
  const std::size_t most = most_running();
  for (;;) {
    ClusterRunner& cluster = *running_.front();
    const ClusterRunner::Turn turn = cluster.run_round();
    if (turn == ClusterRunner::Turn::failed) return cluster.problem();
    if (turn == ClusterRunner::Turn::finished) {
      finish(0);
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
