#include "device/cpu/simt/execute/order/clusters.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace lynxpp::device::cpu {

// ---------------------------------------------------------------- the blocks of a cluster

ClusterRunner::ClusterRunner(LaunchState& launch, WorkerCounts* counts)
    : launch_(launch), finished_(launch.cluster_blocks()) {
  for (std::uint32_t rank = 0; rank < launch.cluster_blocks(); ++rank) {
    blocks_.push_back(std::make_unique<BlockRunner>(launch, counts));
    seat_.members.push_back(blocks_.back().get());
  }
}

Status ClusterRunner::start(std::uint64_t cluster, std::uint32_t multiprocessor) {
  std::fill(finished_.begin(), finished_.end(), false);
  delay_ = 0;
  delays_.assign(blocks_.size(), 0);
  if (!launch_.shape.cluster) return blocks_[0]->start(cluster, multiprocessor);
  const Dim3 each = *launch_.shape.cluster;
  const Dim3& grid = launch_.shape.grid;
  const std::uint64_t across = grid.x / each.x;
  const std::uint64_t down = grid.y / each.y;
  seat_.id[0] = static_cast<std::uint32_t>(cluster % across);
  seat_.id[1] = static_cast<std::uint32_t>(cluster / across % down);
  seat_.id[2] = static_cast<std::uint32_t>(cluster / across / down);
  const std::uint64_t shared_bytes = launch_.program->shared.bytes(launch_.shape.shared_bytes);
  seat_.stride = align_up(shared_bytes, shared_alignment);
  seat_.shared = shared_.reserve(seat_.stride * blocks_.size());
  if (seat_.shared == nullptr) return failure("no memory for the shared memory of a cluster");
  knowledge_ = {};
  seat_.knowledge = &knowledge_;
  for (std::uint32_t rank = 0; rank < blocks_.size(); ++rank) {
    seat_.rank = rank;
    const std::uint64_t x = seat_.id[0] * each.x + rank % each.x;
    const std::uint64_t y = seat_.id[1] * each.y + rank / each.x % each.y;
    const std::uint64_t z = seat_.id[2] * each.z + rank / each.x / each.y;
    const std::uint64_t block = x + grid.x * (y + grid.y * z);
    if (Status started = blocks_[rank]->start(block, multiprocessor, &seat_); !started) return started;
  }
  return success();
}

ClusterRunner::Turn ClusterRunner::run_round() {
  bool progress = false;
  bool unfinished = false;
  const bool is_scheduled = launch_.schedule() != nullptr && blocks_.size() > 1;
  const std::uint64_t changes = is_scheduled ? launch_.explored->changes : 0;
  for (std::size_t rank = 0; rank < blocks_.size(); ++rank) {
    if (finished_[rank]) continue;
    if (is_scheduled && is_block_delayed(rank)) {
      unfinished = progress = true;
      continue;
    }
    const Turn turn = blocks_[rank]->run_round();
    failed_ = rank;
    if (turn == Turn::failed) return turn;
    finished_[rank] = turn == Turn::finished;
    unfinished |= turn != Turn::finished;
    progress |= turn != Turn::blocked;
  }
  if (!unfinished) return Turn::finished;
  if (is_scheduled && launch_.explored->changes == changes) delays_.assign(blocks_.size(), 0);
  if (launch_.check != nullptr && all_wait_idly()) {
    failed_ = first_unfinished();
    blocks_[failed_]->fail_at_object();
    return Turn::failed;
  }
  if (progress || launch_.stops()) return Turn::again;
  failed_ = first_unfinished();
  blocks_[failed_]->fail_waiting_for_cluster();
  return Turn::failed;
}

bool ClusterRunner::all_wait_idly() const {
  for (std::size_t rank = 0; rank < blocks_.size(); ++rank) {
    if (!finished_[rank] && !blocks_[rank]->waits_idly_at_objects()) return false;
  }
  return true;
}

bool ClusterRunner::is_block_delayed(std::size_t rank) {
  std::uint32_t& delay = delays_[rank];
  if (delay > 0) return --delay > 0;
  const Actor actor{blocks_[rank]->number(), Actor::whole_block};
  delay = delay_rounds[schedule().choose(ChoiceKind::delay, actor, std::size(delay_rounds))];
  return delay > 0;
}

bool ClusterRunner::is_delayed() {
  if (delay_ > 0) return --delay_ > 0;
  const Actor actor{blocks_.front()->number(), Actor::whole_cluster};
  delay_ = delay_rounds[schedule().choose(ChoiceKind::delay, actor, std::size(delay_rounds))];
  return delay_ > 0;
}

std::uint32_t ClusterRunner::choose_rounds() {
  const Actor actor{blocks_.front()->number(), Actor::whole_cluster};
  const std::uint32_t chosen = schedule().choose(ChoiceKind::rounds, actor, 1 + std::size(block_rounds));
  return chosen == 0 ? 0 : block_rounds[chosen - 1];
}

std::size_t ClusterRunner::first_unfinished() const {
  return static_cast<std::size_t>(std::ranges::find(finished_, false) - finished_.begin());
}

bool ClusterRunner::is_stuck() const {
  for (std::size_t rank = 0; rank < blocks_.size(); ++rank) {
    if (!finished_[rank] && !blocks_[rank]->is_stuck()) return false;
  }
  return true;
}

void ClusterRunner::perform_overdue() {
  for (const auto& block : blocks_) block->perform_overdue();
}

void ClusterRunner::fail_stuck(const std::string& others) {
  failed_ = first_unfinished();
  blocks_[failed_]->fail_stuck(others);
}

std::uint32_t ClusterRunner::waiting_rounds() const {
  std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
  for (std::size_t rank = 0; rank < blocks_.size(); ++rank) {
    if (!finished_[rank]) least = std::min(least, blocks_[rank]->waiting_rounds());
  }
  return least;
}

void ClusterRunner::reset_waiting_rounds() {
  for (const auto& block : blocks_) block->reset_waiting_rounds();
}

const BlockRunner& ClusterRunner::block() const {
  const auto found = std::ranges::find(finished_, false);
  return *blocks_[found != finished_.end() ? static_cast<std::size_t>(found - finished_.begin()) : 0];
}

// ---------------------------------------------------------------- barrier.cluster

/// Makes `lanes` arrive at the cluster's barrier, or makes the group wait until all threads that have not
/// exited have arrived. Lanes whose phase is complete do not wait.
void BlockRunner::meet_cluster(Warp& warp, LaneGroup& group, BarrierKind kind, std::uint32_t lanes) {
  std::uint32_t& arrived = cluster_arrived_[warp.context.warpid];
  if (kind == BarrierKind::cluster_arrive) {
    if (check_) check_->arrive_at_cluster(warp.context.warpid);
    arrived |= lanes;
    meets_cluster_ = true;
    return complete_cluster_barrier();
  }
  if ((arrived & lanes) != 0) {
    group.wait = LaneGroup::Wait::cluster;
  } else if (check_) {
    check_->leave_cluster(warp.context.warpid);
  }
}

bool BlockRunner::has_arrived_at_cluster() const {
  for (std::size_t i = 0; i < warps_.size(); ++i) {
    if ((warps_[i]->live & ~cluster_arrived_[i]) != 0) return false;
  }
  return true;
}

void BlockRunner::complete_cluster_barrier() {
  const std::span<BlockRunner* const> members = cluster_members();
  const bool all =
      std::ranges::all_of(members, [](BlockRunner* each) { return each->has_arrived_at_cluster(); });
  if (!all) return;
  if (check_) check_->close_cluster();
  for (BlockRunner* const each : members) each->leave_cluster_barrier();
}

void BlockRunner::leave_cluster_barrier() {
  std::fill(cluster_arrived_.begin(), cluster_arrived_.end(), 0);
  for (const std::unique_ptr<Warp>& warp : warps_) {
    for_each_group(warp->used_frames(), [&](Frame&, LaneGroup& group) {
      if (group.wait != LaneGroup::Wait::cluster) return;
      group.wait = LaneGroup::Wait::none;
      if (check_) check_->leave_cluster(warp->context.warpid);
    });
  }
}

bool BlockRunner::waits_for_cluster() const {
  bool waits = false;
  for (const std::unique_ptr<Warp>& warp : warps_) {
    for_each_group(warp->used_frames(),
                   [&](Frame&, const LaneGroup& group) { waits |= group.wait == LaneGroup::Wait::cluster; });
  }
  return waits;
}

}  // namespace lynxpp::device::cpu
