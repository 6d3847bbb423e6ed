#include "ptx/analysis/flow/warp_convergence.h"

#include <algorithm>

namespace lynxpp::ptx {

WarpConvergence::WarpConvergence(WarpPaths paths)
    : paths_(std::move(paths)),
      values_(paths_.blocks.size(), Convergence::whole),
      end_of_(paths_.blocks.size(), no_block),
      end_of_loop_(paths_.loops.size(), no_block),
      loop_left_(paths_.blocks.size(), no_loop) {
  for (std::uint32_t index = 0; index < paths_.loops.size(); ++index) {
    const std::uint32_t loop = paths_.loops[index].loop;
    loop_of_header_[paths_.nest.loops()[loop].header] = index;
    for (const std::uint32_t block : paths_.nest.blocks_of(loop)) {
      for (const std::uint32_t next : paths_.graph.blocks[block].successors) {
        if (!paths_.nest.contains(loop, next)) loop_left_[block] = index;
      }
    }
  }
  find_regions();
  start();
  solve();
}

void WarpConvergence::find_regions() {
  // Blocks where lanes split and headers of divergent loops, by the block where they end.
  std::map<std::uint32_t, std::vector<std::uint32_t>> begins;
  for (std::uint32_t block = 0; block < paths_.blocks.size(); ++block) {
    const std::uint32_t end = paths_.post_dominators[block];
    if (paths_.blocks[block].splits && end != no_block && loop_left_[block] == no_loop)
      begins[end].push_back(block);
  }
  for (const WarpLoop& divergent : paths_.loops)
    begins[divergent.end].push_back(paths_.nest.loops()[divergent.loop].header);
  for (auto& [end, of_end] : begins) find_regions(end, of_end);
}

void WarpConvergence::find_regions(std::uint32_t end, std::vector<std::uint32_t>& begins) {
  // Outer regions first: they dominate the inner ones.
  std::ranges::stable_sort(begins, {},
                           [&](std::uint32_t block) { return paths_.dominators.order_of(block); });
  std::vector<std::uint32_t*> ends;  // of the outer ones
  std::set<std::uint32_t> inside;    // blocks whose lanes are awaited
  for (const std::uint32_t begin : begins) {
    if (inside.contains(begin)) continue;
    // A loop also covers a divergence at its header.
    const auto loop = loop_of_header_.find(begin);
    const bool is_loop = loop != loop_of_header_.end() && paths_.loops[loop->second].end == end;
    const std::optional<std::vector<std::uint32_t>> region =
        is_loop ? paths_.loops[loop->second].blocks : paths_.region_of(begin, end);
    if (!region) return lower(end, Convergence::apart);
    inside.insert(region->begin(), region->end());
    ends.push_back(is_loop ? &end_of_loop_[loop->second] : &end_of_[begin]);
  }
  for (std::uint32_t* const each : ends) *each = end;
  awaited_[end] = std::move(inside);
}

bool WarpConvergence::restarts(std::uint32_t block) const {
  return paths_.blocks[block].restarts || (paths_.blocks[block].may_join && !is_whole(block));
}

bool WarpConvergence::is_awaited(std::uint32_t block, std::uint32_t next) const {
  const auto end = awaited_.find(next);
  return end != awaited_.end() && (end_of_[block] == next || end->second.contains(block));
}

Convergence WarpConvergence::after(std::uint32_t block, std::uint32_t next) const {
  if (is_awaited(block, next)) return Convergence::whole;
  if (loop_left_[block] != no_loop) {
    // Lanes that exit a loop early execute the blocks between the loop and its end separately.
    const WarpLoop& left = paths_.loops[loop_left_[block]];
    const bool is_known = paths_.nest.contains(left.loop, next) || next == left.end;
    return is_known ? Convergence::whole : Convergence::apart;
  }
  if (leaves_apart(block)) return loop_of_header_.contains(next) ? Convergence::whole : Convergence::apart;
  return is_whole(block) ? Convergence::whole : Convergence::together;
}

void WarpConvergence::lower(std::uint32_t block, Convergence value) {
  if (value >= values_[block]) return;
  if (paths_.blocks[block].is_joint && value == Convergence::together) return;
  values_[block] = value;
  pending_.push_back(block);
}

void WarpConvergence::start() {
  if (!paths_.begins_whole) lower(0, Convergence::together);
  for (std::uint32_t block = 0; block < paths_.blocks.size(); ++block) {
    if (!paths_.blocks[block].is_reachable) continue;
    pending_.push_back(block);
    if (paths_.blocks[block].is_meeting && !awaited_.contains(block)) lower(block, Convergence::apart);
  }
  for (const WarpLoop& divergent : paths_.loops) {
    for (const std::uint32_t block : divergent.blocks) lower(block, Convergence::together);
    // Only lanes that enter the loop reach its end.
    if (divergent.begins_after_branch) lower(divergent.end, Convergence::together);
  }
}

void WarpConvergence::solve() {
  while (!pending_.empty()) {
    const std::uint32_t block = pending_.back();
    pending_.pop_back();
    for (const std::uint32_t next : paths_.graph.blocks[block].successors) lower(next, after(block, next));
    if (is_whole(block)) continue;
    if (end_of_[block] != no_block) lower(end_of_[block], Convergence::together);
    for (const WarpLoop& divergent : paths_.loops) {
      if (divergent.begin == block) lower(divergent.end, Convergence::together);
    }
  }
  for (const auto& [header, index] : loop_of_header_) {
    for (const std::uint32_t block : paths_.graph.blocks[header].predecessors) {
      if (paths_.blocks[block].is_reachable && loop_left_[block] == no_loop && leaves_apart(block) &&
          !is_awaited(block, header))
        entered_anew_.emplace(block, header);
    }
  }
}

}  // namespace lynxpp::ptx
