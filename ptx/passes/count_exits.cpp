#include "ptx/passes/count_exits.h"

#include <algorithm>

#include "ptx/analysis/cohorts.h"

namespace lynxpp::ptx {
namespace {

bool leaves(const Instruction& instruction) { return instruction.traits.kind == OpcodeClass::exit; }

bool calls(const Instruction& instruction) { return instruction.traits.kind == OpcodeClass::call; }

/// Of the functions that the kernel may reach.
bool are_harmless(const InstrumentationUnit& unit) {
  for (const FunctionUnit& function : unit.functions) {
    for (const Instruction& instruction : function.function->body->instructions) {
      if (calls(instruction) && unit.find(direct_callee(unit.module, instruction)) == nullptr) return false;
      if (&function == &unit.kernel()) continue;
      if (instruction.opcode == "exit" || may_join_lanes(instruction)) return false;
    }
  }
  return true;
}

/// Whether all lanes come to the block, and as often.
bool is_passed_by_all(const CountedFunction& kernel, std::uint32_t block) {
  const std::vector<std::uint32_t>& meetings = kernel.analyses->post_dominators();
  std::uint32_t at = 0;
  while (at != no_block && at != block) at = meetings[at];
  const LoopNest& loops = kernel.analyses->loops();
  if (at == no_block || loops.is_irreducible(block)) return false;
  for (std::uint32_t loop = loops.loop_of(block); loop != no_loop; loop = loops.loops()[loop].parent) {
    if ((kernel.analyses->uniformity().of_loop_exit(loop) & varies_in_warp) != 0) return false;
  }
  return true;
}

}  // namespace

bool leaves_together(const InstrumentationUnit& unit, const CountedFunction& kernel) {
  const std::vector<Instruction>& instructions = kernel.unit->function->body->instructions;
  const std::vector<BasicBlock>& blocks = kernel.unit->graph.blocks;
  if (std::ranges::count_if(instructions, leaves) != 1 || !are_harmless(unit)) return false;
  for (std::uint32_t block = 0; block < blocks.size(); ++block) {
    const auto begin = instructions.begin() + blocks[block].begin;
    const auto end = instructions.begin() + blocks[block].end;
    const auto exit = std::find_if(begin, end, leaves);
    if (exit != end && exit->guarded()) return false;
    if (exit == end && blocks[block].leaves_function && kernel.analyses->dominators().is_reachable(block))
      return false;
    if (exit == end && std::none_of(begin, end, may_join_lanes)) continue;
    if (!is_passed_by_all(kernel, block)) return false;
  }
  return true;
}

}  // namespace lynxpp::ptx
