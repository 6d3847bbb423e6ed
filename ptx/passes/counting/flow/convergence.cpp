#include "ptx/passes/counting/flow/convergence.h"

#include <algorithm>

#include "ptx/analysis/flow/walk.h"
#include "ptx/analysis/values/cohorts.h"
#include "ptx/passes/facts.h"

namespace lynxpp::ptx {
namespace {

/// True if no function that the kernel may reach makes waiting at the exit unsafe.
bool are_harmless(const CountInputs& inputs) {
  for (const FunctionUnit& function : inputs.reached.functions) {
    for (const Instruction& instruction : function.function->body->instructions) {
      if (instruction.traits.kind == OpcodeClass::call &&
          inputs.reached.find(direct_callee(inputs.module, instruction)) == nullptr)
        return false;
      if (&function == &inputs.reached.kernel()) continue;
      if (instruction.op() == Op::exit || may_join_lanes(instruction)) return false;
    }
  }
  return true;
}

constexpr std::size_t most_visits = 10'000'000;

/// Per block: true if either all lanes of a warp execute it equally often or none does. False in irreducible
/// loops, and between a divergent branch and its reconvergence point, including loops that lanes exit
/// separately.
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
    const auto mark = [&](std::uint32_t next) {
      together[next] = false;
      return ++visits <= most_visits;
    };
    if (!walk_blocks(kernel.graph(), blocks[block].successors, post_dominators[block], mark))
      return std::vector<bool>(blocks.size(), false);
  }
  return together;
}

/// True if the probe may execute with a partial warp in the function. `together` is indexed by block of the
/// kernel, as passed_together() returns it.
bool may_be_partial(const CountInputs& inputs, std::uint32_t number, const FunctionUnit& function,
                    const std::vector<bool>& together) {
  const Probe& probe = inputs.probes[number];
  const bool is_kernel = &function == &inputs.reached.kernel();
  switch (probe.point) {
    case ProbePoint::kernel_entry:
    case ProbePoint::kernel_exit: return false;  // all lanes reach it
    case ProbePoint::function_entry:
    case ProbePoint::function_exit: return !is_kernel;
    case ProbePoint::instruction:
    case ProbePoint::instruction_after: break;
    default: return !is_kernel || std::ranges::find(together, false) != together.end();
  }
  const std::vector<Instruction>& instructions = function.function->body->instructions;
  for (std::uint32_t i = 0; i < instructions.size(); ++i) {
    const bool is_partial =
        instructions[i].guarded() || !is_kernel || !together[function.graph().block_of[i]];
    const std::uint32_t id = function.first_instruction + i;
    if (is_partial && probe.matches(instructions[i]) && inputs.memory.measured_at(number, id) == id)
      return true;
  }
  return false;
}

/// True if a handler synchronizes lanes at a site that a partial warp may reach.
bool joins_partial_warps(const CountInputs& inputs, const std::vector<bool>& together) {
  for (std::uint32_t number = 0; number < inputs.probes.size(); ++number) {
    const Probe& probe = inputs.probes[number];
    const bool may_join =
        probe.enabled && (probe.routine.may_join_lanes() ||
                          (probe.with_lane_values && probe.with_lane_values->may_join_lanes()));
    if (!may_join) continue;
    const auto is_in = [&](const FunctionUnit& function) {
      return function.instrumented && may_be_partial(inputs, number, function, together);
    };
    if (std::ranges::any_of(inputs.reached.functions, is_in)) return true;
  }
  return false;
}

}  // namespace

bool converges_at_exit(const CountInputs& inputs, const CountedFunction& kernel) {
  const std::vector<Instruction>& instructions = kernel.instructions();
  const std::vector<BasicBlock>& blocks = kernel.graph().blocks;
  if (std::ranges::count_if(instructions, is_exit) != 1 || !are_harmless(inputs)) return false;
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
  return !joins_partial_warps(inputs, together);
}

}  // namespace lynxpp::ptx
