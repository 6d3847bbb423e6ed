// The convergence of warps on small graphs, compared with executions of every such graph. The three lanes
// of a warp choose their way at random. Divergent branches split them; they are joined at the branch's
// post-dominator, or not; where the analysis awaits them, they always are. Blocks that may join lanes let
// some of them leave later. Divergent loops are covered by tests/counting.
#include "ptx/analysis/flow/warp_convergence.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "ptx/analysis/flow/walk.h"
#include "tests/analysis/analysed.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t lane_count = 3;
using LaneGroup = std::vector<std::uint32_t>;

/// %p1 varies in the warp, %p2 does not.
std::string body_with(const std::vector<std::string>& blocks) {
  std::string body =
      "mov.u32 %r1, %tid.x;\nld.param.u32 %r2, [n];\nsetp.lt.u32 %p1, %r1, %r2;\nsetp.lt.u32 %p2, %r2, 9;\n";
  for (std::size_t block = 0; block < blocks.size(); ++block)
    body += "B" + std::to_string(block) + ":\n" + blocks[block] + "\n";
  return body + "ret;";
}

/// A graph, what its blocks do, and the solution.
class WarpGraph {
 public:
  /// `joins` has one bit for each block that may join lanes.
  WarpGraph(const std::string& body, std::uint32_t joins, bool is_kernel) : analysed_(body) {
    WarpPaths paths{analysed_->graph(),
                    analysed_->dominators(),
                    analysed_->post_dominators(),
                    analysed_->loops(),
                    is_kernel,
                    {},
                    {},
                    region_rule()};
    const Uniformity& uniformity = analysed_->uniformity();
    for (std::uint32_t block = 0; block < size(); ++block) {
      const bool splits = targets(block).size() > 1 && (uniformity.of_branch(block) & varies_in_warp) != 0;
      facts_.push_back({analysed_->dominators().is_reachable(block),
                        (uniformity.of_join(block) & varies_in_warp) != 0, splits, false,
                        (joins >> block & 1) != 0});
    }
    paths.blocks = facts_;
    convergence_.emplace(std::move(paths));
  }

  std::uint32_t size() { return static_cast<std::uint32_t>(analysed_->graph().blocks.size()); }
  const WarpConvergence& convergence() const { return *convergence_; }
  const WarpBlock& facts(std::uint32_t block) const { return facts_[block]; }
  std::uint32_t post_dominator(std::uint32_t block) { return analysed_->post_dominators()[block]; }

  /// The successors, and no_block if lanes may leave the function.
  std::vector<std::uint32_t> targets(std::uint32_t block) {
    std::vector<std::uint32_t> found = analysed_->graph().blocks[block].successors;
    if (analysed_->graph().blocks[block].leaves_function) found.push_back(no_block);
    return found;
  }

 private:
  std::function<std::optional<std::vector<std::uint32_t>>(std::uint32_t, std::uint32_t)> region_rule() {
    return [this](std::uint32_t begin, std::uint32_t end) -> std::optional<std::vector<std::uint32_t>> {
      const LoopNest& nest = analysed_->loops();
      const ControlFlowGraph& graph = analysed_->graph();
      if (nest.loop_of(begin) != nest.loop_of(end) || nest.is_irreducible(begin) ||
          nest.is_irreducible(end) || graph.blocks[begin].leaves_function)
        return std::nullopt;
      std::vector<std::uint32_t> region;
      const bool is_region =
          walk_blocks(graph, graph.blocks[begin].successors, end, [&](std::uint32_t block) {
            region.push_back(block);
            return block != begin && analysed_->dominators().dominates(begin, block) &&
                   !graph.blocks[block].leaves_function && !facts_[block].may_join;
          });
      return is_region ? std::optional(region) : std::nullopt;
    };
  }

  Analysed analysed_;
  std::vector<WarpBlock> facts_;
  std::optional<WarpConvergence> convergence_;
};

/// One execution of a graph by one warp.
class WarpExecution {
 public:
  WarpExecution(WarpGraph& graph, std::mt19937& random)
      : graph_(graph), random_(random), executed_(graph.size()) {
    LaneGroup all;
    for (std::uint32_t lane = 0; lane < lane_count; ++lane) all.push_back(lane);
    arrive(0, all, no_block);
  }

  bool is_complete() const { return steps_ < most_steps; }
  std::uint64_t executed(std::uint32_t block) const { return executed_[block]; }
  bool was_partial(std::uint32_t block) const { return partial_.contains(block); }
  std::uint64_t taken(std::uint32_t block, std::uint32_t next) const {
    const auto found = taken_.find({block, next});
    return found == taken_.end() ? 0 : found->second;
  }

 private:
  static constexpr int most_steps = 200;

  std::uint32_t below(std::size_t bound) { return static_cast<std::uint32_t>(random_() % bound); }

  /// Executes `block` and those after it. Returns the lanes that reach `until`, which they do not execute.
  LaneGroup arrive(std::uint32_t block, LaneGroup group, std::uint32_t until) {
    while (block != until && block != no_block && !group.empty() && ++steps_ < most_steps) {
      ++executed_[block];
      if (group.size() != lane_count) partial_.insert(block);
      const std::vector<std::uint32_t> targets = graph_.targets(block);
      const bool comes_apart = graph_.facts(block).may_join && group.size() != lane_count;
      std::map<std::pair<std::uint32_t, std::uint32_t>, LaneGroup> parts;  // by target, and part of its lanes
      const std::uint32_t common = targets[below(targets.size())];
      for (const std::uint32_t lane : group) {
        const std::uint32_t target = graph_.facts(block).splits ? targets[below(targets.size())] : common;
        parts[{target, comes_apart ? below(2) : 0}].push_back(lane);
      }
      for (const auto& [to, part] : parts) ++taken_[{block, to.first}];
      const bool is_begin = graph_.convergence().end_of(block) != no_block;
      if (parts.size() == 1 && !is_begin) {
        block = parts.begin()->first.first;
        continue;
      }
      const std::uint32_t meeting = graph_.post_dominator(block);
      const bool is_awaited = graph_.convergence().is_awaited(block, meeting);
      if (meeting == no_block || (!is_awaited && below(2) == 0)) {
        LaneGroup arrived;
        for (const auto& [to, part] : parts) {
          const LaneGroup more = arrive(to.first, part, until);
          arrived.insert(arrived.end(), more.begin(), more.end());
        }
        return arrived;
      }
      group.clear();
      for (const auto& [to, part] : parts) {
        const LaneGroup more = arrive(to.first, part, meeting);
        group.insert(group.end(), more.begin(), more.end());
      }
      block = meeting;
    }
    return block == until ? group : LaneGroup();
  }

  WarpGraph& graph_;
  std::mt19937& random_;
  std::vector<std::uint64_t> executed_;
  std::set<std::uint32_t> partial_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> taken_;
  int steps_ = 0;
};

struct Findings {
  std::map<Convergence, int> blocks;
  int ends = 0, executions = 0, apart_not_conserved = 0;
  std::string first_error;
};

/// The executions of `block` that its edges, the entry and the regions that it ends account for.
std::uint64_t conserved(WarpGraph& graph, const WarpExecution& execution, std::uint32_t block) {
  std::uint64_t sum = block == 0 ? 1 : 0;
  for (std::uint32_t before = 0; before < graph.size(); ++before) {
    if (!graph.convergence().is_awaited(before, block)) sum += execution.taken(before, block);
    if (graph.convergence().end_of(before) == block) sum += execution.executed(before);
  }
  return sum;
}

void compare(const std::string& body, std::uint32_t joins, int executions, std::mt19937& random,
             Findings& findings) {
  WarpGraph graph(body, joins, true);
  for (std::uint32_t block = 0; block < graph.size(); ++block) {
    if (!graph.facts(block).is_reachable) continue;
    ++findings.blocks[graph.convergence().at_start(block)];
    if (graph.convergence().end_of(block) != no_block) ++findings.ends;
  }
  for (int i = 0; i < executions; ++i) {
    const WarpExecution execution(graph, random);
    if (!execution.is_complete()) continue;
    ++findings.executions;
    for (std::uint32_t block = 0; block < graph.size(); ++block) {
      const bool is_equal = conserved(graph, execution, block) == execution.executed(block);
      const Convergence value = graph.convergence().at_start(block);
      if (value == Convergence::apart) findings.apart_not_conserved += is_equal ? 0 : 1;
      const bool is_wrong = (value != Convergence::apart && !is_equal) ||
                            (value == Convergence::whole && execution.was_partial(block));
      if (is_wrong && findings.first_error.empty())
        findings.first_error =
            "block " + std::to_string(block) + ", joins " + std::to_string(joins) + ":\n" + body;
    }
  }
}

/// Returns all ways to end a block of a graph of `blocks` blocks.
std::vector<std::string> block_ends(std::uint32_t blocks) {
  std::vector<std::string> ends{"", "@%p1 exit;", "@%p2 exit;"};
  for (std::uint32_t target = 0; target < blocks; ++target) {
    for (const char* const guard : {"", "@%p1 ", "@%p2 "})
      ends.push_back(guard + ("bra B" + std::to_string(target)) + ";");
  }
  return ends;
}

TEST(WarpConvergence, HoldsInExecutionsOfAllGraphsOfThreeBlocks) {
  const std::vector<std::string> ends = block_ends(3);
  std::mt19937 random(1);
  Findings findings;
  for (const std::string& first : ends) {
    for (const std::string& second : ends) {
      for (const std::string& third : ends) {
        for (const std::uint32_t joins : {0U, 2U, 4U})
          compare(body_with({first, second, third}), joins, 12, random, findings);
      }
    }
  }
  EXPECT_EQ(findings.first_error, "");
  EXPECT_GT(findings.executions, 10000);
}

TEST(WarpConvergence, HoldsInExecutionsOfRandomGraphs) {
  std::mt19937 random(2);
  Findings findings;
  for (int i = 0; i < 1500; ++i) {
    const std::uint32_t count = 4 + static_cast<std::uint32_t>(random() % 4);
    const std::vector<std::string> ends = block_ends(count);
    std::vector<std::string> blocks;
    for (std::uint32_t block = 0; block < count; ++block) blocks.push_back(ends[random() % ends.size()]);
    const std::uint32_t joins = random() % 2 == 0 ? 0 : static_cast<std::uint32_t>(random() & random() & 255);
    compare(body_with(blocks), joins, 30, random, findings);
  }
  EXPECT_EQ(findings.first_error, "");
  EXPECT_GT(findings.executions, 10000);
  EXPECT_GT(findings.blocks[Convergence::whole], 500);
  EXPECT_GT(findings.blocks[Convergence::together], 200);
  EXPECT_GT(findings.ends, 50);
  EXPECT_GT(findings.apart_not_conserved, 100) << "lanes come apart where the analysis expects it";
}

TEST(WarpConvergence, IsNeverWholeInAFunction) {
  WarpGraph graph(body_with({"@%p1 bra B2;", "", "", "@%p2 bra B2;"}), 0, false);
  EXPECT_EQ(graph.convergence().at_start(0), Convergence::together);
  for (std::uint32_t block = 0; block < graph.size(); ++block)
    EXPECT_NE(graph.convergence().at_start(block), Convergence::whole);
}

}  // namespace
}  // namespace lynxpp::ptx
