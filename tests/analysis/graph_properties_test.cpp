// Dominators, loops, liveness and reaching definitions of random graphs, compared with direct implementations
// of their definitions.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "ptx/analysis/flow/dominance_frontiers.h"
#include "tests/analysis/analysed.h"

namespace lynxpp::ptx {
namespace {

constexpr int graphs = 300;

/// Generates a body of blocks that end in random jumps and use five registers at random.
std::string random_body(std::mt19937& random) {
  const auto below = [&random](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  const std::uint32_t blocks = 1 + below(below(8) == 0 ? 30 : 9);
  std::string body = "BRANCHES: .branchtargets B0, B" + std::to_string(blocks - 1) + ";\n";
  for (std::uint32_t block = 0; block < blocks; ++block) {
    body += "B" + std::to_string(block) + ":\n";
    for (std::uint32_t count = below(3); count-- > 0;) {
      const std::string guard = below(4) == 0 ? "@%p1 " : "";
      body += guard + "add.s32 %r" + std::to_string(below(5)) + ", %r" + std::to_string(below(5)) + ", 1;\n";
    }
    const std::string target = "B" + std::to_string(below(blocks));
    switch (below(6)) {
      case 0: body += "bra " + target + ";\n"; break;
      case 1:
      case 2: body += "@%p1 bra " + target + ";\n"; break;
      case 3: body += below(2) == 0 ? "ret;\n" : "@%p2 exit;\n"; break;
      case 4: body += "brx.idx %r1, BRANCHES;\n"; break;
      default: break;
    }
  }
  return body;
}

/// Returns the blocks reachable from `from` without entering `avoided`.
std::set<std::uint32_t> reachable(const ControlFlowGraph& graph, std::uint32_t from, std::uint32_t avoided) {
  std::set<std::uint32_t> seen;
  std::vector<std::uint32_t> work{from};
  while (!work.empty()) {
    const std::uint32_t block = work.back();
    work.pop_back();
    if (block == avoided || !seen.insert(block).second) continue;
    for (const std::uint32_t successor : graph.blocks[block].successors) work.push_back(successor);
  }
  return seen;
}

/// Walks over program points after an instruction: (block, instruction), or the ends of empty blocks.
struct Walk {
  FunctionAnalyses& analyses;

  /// True if some path from before instruction `at` of `block` reads the register before fully writing it.
  bool is_live(std::uint32_t block, std::uint32_t at, RegisterId reg,
               std::set<std::uint32_t>& entered) const {
    const BasicBlock& node = analyses.graph().blocks[block];
    for (; at < node.end; ++at) {
      for (const RegisterId read : analyses.registers().reads(at)) {
        if (read == reg) return true;
      }
      for (const RegisterWrite& write : analyses.registers().writes(at)) {
        if (write.reg == reg && !write.partial) return false;
      }
    }
    return std::ranges::any_of(node.successors, [&](std::uint32_t successor) {
      return entered.insert(successor).second &&
             is_live(successor, analyses.graph().blocks[successor].begin, reg, entered);
    });
  }

  /// Adds the writes of `reg` that may reach the program point before instruction `at` of `block`; no_block
  /// represents the entry.
  void definitions(std::uint32_t block, std::uint32_t at, RegisterId reg, std::set<std::uint32_t>& left,
                   std::set<std::uint32_t>& found) const {
    const BasicBlock& node = analyses.graph().blocks[block];
    while (at-- > node.begin) {
      for (const RegisterWrite& write : analyses.registers().writes(at)) {
        if (write.reg != reg) continue;
        found.insert(at);
        if (!write.partial) return;
      }
    }
    if (block == 0) found.insert(no_block);
    for (const std::uint32_t predecessor : node.predecessors) {
      if (!analyses.dominators().is_reachable(predecessor) || !left.insert(predecessor).second) continue;
      definitions(predecessor, analyses.graph().blocks[predecessor].end, reg, left, found);
    }
  }
};

class RandomGraphs : public testing::Test {
 protected:
  template <typename Check>
  void for_each_graph(Check check) {
    std::mt19937 random(20240229);
    for (int round = 0; round < graphs && !HasFailure(); ++round) {
      const std::string body = random_body(random);
      SCOPED_TRACE(body);
      Analysed analysed(body);
      check(*analysed);
    }
  }
};

TEST_F(RandomGraphs, DominatorsAreOnEveryPath) {
  for_each_graph([](FunctionAnalyses& analyses) {
    const ControlFlowGraph& graph = analyses.graph();
    const DominatorTree& dominators = analyses.dominators();
    const auto everything = reachable(graph, 0, no_block);
    for (const BasicBlock& block : graph.blocks) EXPECT_TRUE(std::ranges::is_sorted(block.predecessors));
    for (std::uint32_t left = 0; left < graph.blocks.size(); ++left) {
      EXPECT_EQ(dominators.is_reachable(left), everything.contains(left));
      const auto without = reachable(graph, 0, left);
      for (std::uint32_t right = 0; right < graph.blocks.size(); ++right) {
        const bool expected =
            everything.contains(left) && everything.contains(right) && !without.contains(right);
        EXPECT_EQ(dominators.dominates(left, right), expected) << left << " " << right;
      }
      const std::uint32_t parent = dominators.immediate(left);
      if (parent == no_block) continue;
      for (std::uint32_t other = 0; other < graph.blocks.size(); ++other) {
        const bool strict = other != left && dominators.dominates(other, left);
        EXPECT_TRUE(!strict || dominators.dominates(other, parent)) << other << " " << left;
      }
    }
  });
}

TEST_F(RandomGraphs, FrontiersBeginWhereDominanceEnds) {
  for_each_graph([](FunctionAnalyses& analyses) {
    const ControlFlowGraph& graph = analyses.graph();
    const DominatorTree& dominators = analyses.dominators();
    const DominanceFrontiers frontiers(graph, dominators);
    for (std::uint32_t block = 0; block < graph.blocks.size(); ++block) {
      std::set<std::uint32_t> expected;
      for (std::uint32_t join = 0; join < graph.blocks.size(); ++join) {
        const bool strictly = join != block && dominators.dominates(block, join);
        const auto& predecessors = graph.blocks[join].predecessors;
        const bool reaches = std::ranges::any_of(predecessors, [&](std::uint32_t predecessor) {
          return dominators.dominates(block, predecessor);
        });
        if (!strictly && reaches) expected.insert(join);
      }
      for (std::uint32_t depth = 0; depth < graph.blocks.size(); ++depth) {
        DominanceFrontiers::Walk walk(frontiers);
        std::vector<std::uint32_t> joins;
        frontiers.append(block, depth, walk, joins);
        EXPECT_EQ(std::set<std::uint32_t>(joins.begin(), joins.end()), expected)
            << block << " from " << depth;
        EXPECT_EQ(joins.size(), expected.size()) << "each once";
        std::erase_if(expected, [&](std::uint32_t join) { return frontiers.depth(join) == depth; });
      }
    }
  });
}

TEST_F(RandomGraphs, LoopsHaveDominatingHeaders) {
  for_each_graph([](FunctionAnalyses& analyses) {
    const ControlFlowGraph& graph = analyses.graph();
    const DominatorTree& dominators = analyses.dominators();
    const LoopNest& loops = analyses.loops();
    std::set<std::uint32_t> headers;
    for (std::uint32_t index = 0; index < loops.loops().size(); ++index) {
      const Loop& loop = loops.loops()[index];
      EXPECT_TRUE(headers.insert(loop.header).second);
      std::set<std::uint32_t> expected{loop.header};
      for (std::uint32_t block = 0; block < graph.blocks.size(); ++block) {
        if (!dominators.dominates(loop.header, block) || block == loop.header) continue;
        const auto onwards = reachable(graph, block, loop.header);
        const bool comes_back =
            std::ranges::any_of(loop.latches, [&](std::uint32_t latch) { return onwards.contains(latch); });
        if (comes_back) expected.insert(block);
      }
      EXPECT_EQ(loops.blocks_of(index), std::vector<std::uint32_t>(expected.begin(), expected.end()));
      EXPECT_EQ(loop.block_count, expected.size());
      for (std::uint32_t block = 0; block < graph.blocks.size(); ++block)
        EXPECT_EQ(loops.contains(index, block), expected.contains(block)) << block;
      EXPECT_EQ(loop.depth, loop.parent == no_loop ? 1 : loops.loops()[loop.parent].depth + 1);
      if (loop.parent != no_loop) {
        EXPECT_TRUE(loops.contains(loop.parent, loop.header));
      }
    }
    for (std::uint32_t block = 0; block < graph.blocks.size(); ++block) {
      std::uint32_t deepest = 0;
      for (std::uint32_t index = 0; index < loops.loops().size(); ++index)
        if (loops.contains(index, block)) deepest = std::max(deepest, loops.loops()[index].depth);
      EXPECT_EQ(loops.depth_of(block), deepest);
      for (const std::uint32_t successor : graph.blocks[block].successors)
        EXPECT_EQ(dominators.dominates(successor, block),
                  headers.contains(successor) && dominators.is_reachable(block) &&
                      std::ranges::any_of(loops.loops(), [&](const Loop& loop) {
                        return loop.header == successor && std::ranges::binary_search(loop.latches, block);
                      }));
    }
  });
}

TEST_F(RandomGraphs, EveryCycleIsALoopOrIrreducible) {
  for_each_graph([](FunctionAnalyses& analyses) {
    const ControlFlowGraph& graph = analyses.graph();
    for (const std::uint32_t block : analyses.dominators().reverse_post_order()) {
      bool cyclic = false;
      for (const std::uint32_t successor : graph.blocks[block].successors)
        cyclic |= reachable(graph, successor, no_block).contains(block);
      const bool reported =
          analyses.loops().loop_of(block) != no_loop || analyses.loops().is_irreducible(block);
      EXPECT_EQ(reported, cyclic) << block;
    }
  });
}

TEST_F(RandomGraphs, LiveRegistersAreReadOnSomePath) {
  for_each_graph([](FunctionAnalyses& analyses) {
    const Walk walk{analyses};
    for (std::uint32_t block = 0; block < analyses.graph().blocks.size(); ++block) {
      std::vector<RegisterId> expected;
      for (RegisterId reg = 0; reg < analyses.registers().registers().size(); ++reg) {
        std::set<std::uint32_t> entered;
        if (walk.is_live(block, analyses.graph().blocks[block].begin, reg, entered)) expected.push_back(reg);
      }
      EXPECT_EQ(analyses.liveness().live_in(block), expected) << block;
    }
  });
}

TEST_F(RandomGraphs, ReadsSeeReachingDefinitions) {
  for_each_graph([](FunctionAnalyses& analyses) {
    const Walk walk{analyses};
    const SsaForm& ssa = analyses.ssa();
    for (std::uint32_t at = 0; at < analyses.graph().block_of.size(); ++at) {
      const std::uint32_t block = analyses.graph().block_of[at];
      for (std::size_t index = 0; index < analyses.registers().reads(at).size(); ++index) {
        const ValueId value = ssa.reads(at)[index];
        EXPECT_EQ(value == no_value, !analyses.dominators().is_reachable(block));
        if (value == no_value) continue;
        std::set<std::uint32_t> left, expected, found;
        walk.definitions(block, at, analyses.registers().reads(at)[index], left, expected);
        for (const ValueId definition : ssa.reaching_definitions(value)) {
          const Value& made = ssa.values()[definition];
          found.insert(made.kind == ValueKind::entry ? no_block : made.instruction);
        }
        EXPECT_EQ(found, expected) << "instruction " << at;
      }
    }
  });
}

/// Iterated frontiers by definition, restricted to blocks where the register is live.
TEST_F(RandomGraphs, PhisMergeWritesOfLiveRegisters) {
  for_each_graph([](FunctionAnalyses& analyses) {
    const ControlFlowGraph& graph = analyses.graph();
    const DominatorTree& dominators = analyses.dominators();
    const DominanceFrontiers frontiers(graph, dominators);
    std::map<RegisterId, std::set<std::uint32_t>> reached;
    for (std::uint32_t at = 0; at < graph.block_of.size(); ++at) {
      if (!dominators.is_reachable(graph.block_of[at])) continue;
      for (const RegisterWrite& write : analyses.registers().writes(at)) {
        std::vector<std::uint32_t> work{graph.block_of[at]};
        while (!work.empty()) {
          DominanceFrontiers::Walk walk(frontiers);
          std::vector<std::uint32_t> joins;
          frontiers.append(work.back(), 0, walk, joins);
          work.pop_back();
          for (const std::uint32_t join : joins) {
            if (reached[write.reg].insert(join).second) work.push_back(join);
          }
        }
      }
    }
    for (std::uint32_t block = 0; block < graph.blocks.size(); ++block) {
      std::set<RegisterId> expected, found;
      for (const RegisterId reg : analyses.liveness().live_in(block)) {
        if (reached[reg].contains(block)) expected.insert(reg);
      }
      for (const ValueId phi : analyses.ssa().phis(block)) found.insert(analyses.ssa().values()[phi].reg);
      EXPECT_EQ(found, expected) << "block " << block;
      EXPECT_EQ(found.size(), analyses.ssa().phis(block).size());
    }
  });
}

TEST_F(RandomGraphs, UsesInvertReads) {
  for_each_graph([](FunctionAnalyses& analyses) {
    const SsaForm& ssa = analyses.ssa();
    std::multiset<std::pair<ValueId, std::uint32_t>> reads, uses;
    for (std::uint32_t at = 0; at < analyses.graph().block_of.size(); ++at) {
      for (const ValueId value : ssa.reads(at))
        if (value != no_value) reads.emplace(value, at);
    }
    for (ValueId value = 0; value < ssa.values().size(); ++value) {
      for (const ValueUse& use : ssa.uses(value)) {
        if (use.kind == ValueUse::Kind::read) {
          uses.emplace(value, use.user);
        } else if (use.kind == ValueUse::Kind::previous) {
          EXPECT_EQ(ssa.values()[use.user].previous, value);
        } else {
          EXPECT_THAT(ssa.phi_inputs(use.user), testing::Contains(value));
        }
      }
    }
    EXPECT_EQ(uses, reads);
  });
}

}  // namespace
}  // namespace lynxpp::ptx
