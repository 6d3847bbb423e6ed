#include "report/findings/flow.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "report/findings/ratio.h"

namespace lynxpp::report {
namespace {

constexpr std::uint32_t none = SitesRecord::unknown;

class FlowReader {
 public:
  FlowReader(const SitesRecord& sites, const FlowCounts& counts)
      : sites_(sites), counts_(counts), predecessors_(sites.blocks.size()) {
    for (std::uint32_t block = 0; block < sites.blocks.size(); ++block) {
      for (const std::uint32_t next : successors(block)) {
        predecessors_[next].push_back(block);
        if (next == block) headers_.insert(block);
      }
      if (sites.blocks[block].loop != none) headers_.insert(sites.blocks[block].loop);
    }
  }

  FlowCosts read() {
    FlowCosts costs;
    for (std::uint32_t block = 0; block < sites_.blocks.size(); ++block) {
      if (const double divergent = divergent_at(block); divergent > 0 && !is_of_a_loop(block))
        costs.branches.push_back(branch_cost(block, divergent));
    }
    for (const std::uint32_t header : headers_) {
      if (const LoopCost cost = loop_cost(header); cost.lost > 0) costs.loops.push_back(cost);
    }
    return costs;
  }

 private:
  std::vector<std::uint32_t> successors(std::uint32_t block) const {
    const SitesRecord::Block& of = sites_.blocks[block];
    std::vector<std::uint32_t> found;
    if (of.falls_to != none) found.push_back(of.falls_to);
    if (of.branches_to != none && of.branches_to != of.falls_to) found.push_back(of.branches_to);
    return found;
  }

  std::uint32_t last_of(std::uint32_t block) const {
    return sites_.blocks[block].first + sites_.blocks[block].instructions - 1;
  }

  double divergent_at(std::uint32_t block) const {
    const bool is_branch = sites_.blocks[block].instructions != 0 && successors(block).size() == 2;
    return is_branch && last_of(block) < counts_.divergent.size() ? counts_.divergent[last_of(block)] : 0;
  }

  bool is_in_loop(std::uint32_t block, std::uint32_t header) const {
    // A chain of headers is at most as long as there are blocks; a damaged record may have a cycle.
    for (std::size_t steps = 0; block != none && steps <= sites_.blocks.size(); ++steps) {
      if (block == header) return true;
      block = sites_.blocks[block].loop;
    }
    return false;
  }

  /// True for a branch that repeats or leaves a loop.
  bool is_of_a_loop(std::uint32_t block) const {
    return std::ranges::any_of(headers_, [&](std::uint32_t header) {
      return is_in_loop(block, header) && std::ranges::any_of(successors(block), [&](std::uint32_t next) {
               return next == header || !is_in_loop(next, header);
             });
    });
  }

  /// Returns the blocks on paths from `first` up to `join`.
  std::set<std::uint32_t> region(std::uint32_t first, std::uint32_t join) const {
    std::set<std::uint32_t> found;
    std::vector<std::uint32_t> open{first};
    while (!open.empty()) {
      const std::uint32_t block = open.back();
      open.pop_back();
      if (block == join || !found.insert(block).second) continue;
      for (const std::uint32_t next : successors(block)) open.push_back(next);
    }
    return found;
  }

  double instructions_of(const std::set<std::uint32_t>& blocks, const std::vector<double>& executions) const {
    double sum = 0;
    for (const std::uint32_t block : blocks) sum += sites_.blocks[block].instructions * executions[block];
    return sum;
  }

  BranchCost branch_cost(std::uint32_t block, double divergent) const {
    BranchCost cost;
    cost.instruction = last_of(block);
    cost.branches = counts_.warps[block];
    cost.divergent = divergent;
    const double arriving = ratio(counts_.threads[block], counts_.warps[block]);
    std::set<std::uint32_t> all;
    for (const std::uint32_t next : successors(block)) {
      if (next == sites_.blocks[block].join) continue;
      const std::set<std::uint32_t> blocks = region(next, sites_.blocks[block].join);
      all.insert(blocks.begin(), blocks.end());
      // Warps that the block's threads on this path would fill.
      const double filled = counts_.thread_blocks *
                            std::ceil(ratio(counts_.threads[next], counts_.thread_blocks * arriving) - 1e-9);
      const double share = counts_.warps[next] > 0 ? std::max(0.0, 1 - filled / counts_.warps[next]) : 0;
      cost.lost += share * instructions_of(blocks, counts_.warps);
    }
    cost.warp_instructions = instructions_of(all, counts_.warps);
    cost.thread_instructions = instructions_of(all, counts_.threads);
    cost.lost = std::min(cost.lost, cost.warp_instructions);
    return cost;
  }

  LoopCost loop_cost(std::uint32_t header) const {
    LoopCost cost;
    cost.warp_iterations = counts_.warps[header];
    cost.thread_iterations = counts_.threads[header];
    for (const std::uint32_t before : predecessors_[header]) {
      if (is_in_loop(before, header)) continue;
      double elsewhere = 0;
      for (const std::uint32_t next : successors(before))
        elsewhere += next == header ? 0 : counts_.threads[next];
      const double entering = std::max(0.0, counts_.threads[before] - elsewhere);
      cost.thread_entries += entering;
      if (entering > 0) cost.warp_entries += counts_.warps[before];  // an upper bound
    }
    std::set<std::uint32_t> blocks;
    double divergent = 0, most = 0;
    for (std::uint32_t block = 0; block < sites_.blocks.size(); ++block) {
      if (!is_in_loop(block, header)) continue;
      blocks.insert(block);
      const bool leaves = std::ranges::any_of(successors(block),
                                              [&](std::uint32_t next) { return !is_in_loop(next, header); });
      if (!leaves || sites_.blocks[block].instructions == 0) continue;
      divergent += divergent_at(block);
      if (divergent_at(block) >= most) cost.instruction = last_of(block);
      most = std::max(most, divergent_at(block));
    }
    const double entering = ratio(cost.thread_entries, cost.warp_entries);
    const double in_iteration = ratio(cost.thread_iterations, cost.warp_iterations);
    const bool leave_apart = divergent >= 0.05 * cost.warp_entries && divergent > 0;
    if (!leave_apart || entering <= in_iteration) return {};
    cost.warp_instructions = instructions_of(blocks, counts_.warps);
    cost.lost = (1 - in_iteration / entering) * cost.warp_instructions;
    return cost;
  }

  const SitesRecord& sites_;
  const FlowCounts& counts_;
  std::vector<std::vector<std::uint32_t>> predecessors_;
  std::set<std::uint32_t> headers_;
};

}  // namespace

FlowCosts flow_costs_of(const SitesRecord& sites, const FlowCounts& counts) {
  const std::size_t blocks = sites.blocks.size();
  if (counts.threads.size() != blocks || counts.warps.size() != blocks) return {};
  return FlowReader(sites, counts).read();
}

}  // namespace lynxpp::report
