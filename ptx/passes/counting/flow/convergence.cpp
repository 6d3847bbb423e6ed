#include "ptx/passes/counting/flow/convergence.h"

#include <algorithm>

#include "ptx/analysis/flow/walk.h"
#include "ptx/analysis/values/cohorts.h"
#include "ptx/passes/facts.h"

namespace lynxpp::ptx {
namespace {

bool calls(const Instruction& instruction) { return instruction.traits.kind == OpcodeClass::call; }

/// Of the functions that the kernel may reach.
bool are_harmless(const InstrumentationUnit& unit) {
  for (const FunctionUnit& function : unit.reached.functions) {
    for (const Instruction& instruction : function.function->body->instructions) {
      if (calls(instruction) && unit.reached.find(direct_callee(unit.module, instruction)) == nullptr)
        return false;
      if (&function == &unit.reached.kernel()) continue;
      if (instruction.opcode == "exit" || may_join_lanes(instruction)) return false;
    }
  }
  return true;
}

constexpr std::size_t most_visits = 10'000'000;

/// Per block: all lanes of a warp reach it equally often, or none does. False in irreducible loops, and
/// between a divergent branch and its reconvergence point, including loops that lanes exit separately.
std::vector<bool> passed_together(const CountedFunction& kernel) {
  const std::vector<BasicBlock>& blocks = kernel.graph().blocks;
  const std::vector<std::uint32_t>& post_dominators = kernel.analyses->post_dominators();
  std::vector<bool> together(blocks.size(), true);
  std::size_t visits = 0;
  for (std::uint32_t block = 0; block < blocks.size(); ++block) {
    if (kernel.analyses->loops().is_irreducible(block)) together[block] = false;
    if (blocks[block].successors.size() < 2 ||
        (kernel.analyses->uniformity().of_branch(block) & varies_in_warp) == 0)
      continue;
    const auto divide = [&](std::uint32_t next) {
      together[next] = false;
      return ++visits <= most_visits;
    };
    if (!walk_blocks(kernel.graph(), blocks[block].successors, post_dominators[block], divide))
      return std::vector<bool>(blocks.size(), false);
  }
  return together;
}

}  // namespace

bool converges_at_exit(const InstrumentationUnit& unit, const CountedFunction& kernel) {
  const std::vector<Instruction>& instructions = kernel.instructions();
  const std::vector<BasicBlock>& blocks = kernel.graph().blocks;
  if (std::ranges::count_if(instructions, is_exit) != 1 || !are_harmless(unit)) return false;
  const std::vector<bool> together = passed_together(kernel);
  for (std::uint32_t block = 0; block < blocks.size(); ++block) {
    const auto begin = instructions.begin() + blocks[block].begin;
    const auto end = instructions.begin() + blocks[block].end;
    const auto exit = std::find_if(begin, end, is_exit);
    if (exit != end && exit->guarded()) return false;
    if (exit == end && blocks[block].leaves_function && kernel.analyses->dominators().is_reachable(block))
      return false;
    if (exit == end && std::none_of(begin, end, may_join_lanes)) continue;
    if (!together[block]) return false;
  }
  return true;
}

}  // namespace lynxpp::ptx
