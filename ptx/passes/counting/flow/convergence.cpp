#include "ptx/passes/counting/flow/convergence.h"

#include <algorithm>

#include "ptx/analysis/flow/walk.h"
#include "ptx/analysis/values/cohorts.h"
#include "ptx/passes/facts.h"

namespace lynxpp::ptx {
namespace {

/// Of the functions that the kernel may reach.
bool are_harmless(const InstrumentationUnit& unit) {
  for (const FunctionUnit& function : unit.reached.functions) {
    for (const Instruction& instruction : function.function->body->instructions) {
      if (instruction.traits.kind == OpcodeClass::call &&
          unit.reached.find(direct_callee(unit.module, instruction)) == nullptr)
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

/// The probes in which lanes may wait for each other.
std::vector<std::uint32_t> joining_probes(const SplicedCode& spliced) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < spliced.probes.size(); ++i) {
    const Probe& probe = spliced.probes[i];
    if (probe.enabled && (probe.routine.may_join_lanes() ||
                          (probe.with_lane_values && probe.with_lane_values->may_join_lanes())))
      found.push_back(i);
  }
  return found;
}

/// Whether a handler makes lanes wait for each other where they need not all be.
class PartialJoins {
 public:
  explicit PartialJoins(const InstrumentationUnit& unit)
      : unit_(unit), probes_(joining_probes(unit.spliced)) {}

  /// `together`: by block of the kernel, as passed_together().
  bool any(const std::vector<bool>& together) const {
    if (probes_.empty()) return false;
    return std::ranges::any_of(unit_.reached.functions, [&](const FunctionUnit& function) {
      if (!function.instrumented) return false;
      const bool is_kernel = &function == &unit_.reached.kernel();
      for (std::uint32_t block = 0; block < function.graph().blocks.size(); ++block) {
        if (any_in(function, block, is_kernel && together[block])) return true;
      }
      return false;
    });
  }

 private:
  bool any_in(const FunctionUnit& function, std::uint32_t block, bool is_together) const {
    const bool is_kernel = &function == &unit_.reached.kernel();
    const BasicBlock& range = function.graph().blocks[block];
    return std::ranges::any_of(probes_, [&](std::uint32_t number) {
      switch (unit_.spliced.probes[number].point) {
        case ProbePoint::kernel_entry:
        case ProbePoint::kernel_exit: return false;  // all lanes come there
        case ProbePoint::function_entry:
        case ProbePoint::function_exit: return !is_kernel;
        case ProbePoint::instruction:
        case ProbePoint::instruction_after:
          for (std::uint32_t i = range.begin; i < range.end; ++i) {
            if (stands_at(number, function, i, is_together)) return true;
          }
          return false;
        default: return !is_together;
      }
    });
  }

  bool stands_at(std::uint32_t number, const FunctionUnit& function, std::uint32_t index,
                 bool is_together) const {
    const Instruction& instruction = function.function->body->instructions[index];
    const std::uint32_t id = function.first_instruction + index;
    return (!is_together || instruction.guarded()) && unit_.spliced.probes[number].matches(instruction) &&
           unit_.memory.measured_at(number, id) == id;
  }

  const InstrumentationUnit& unit_;
  const std::vector<std::uint32_t> probes_;
};

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
  return !PartialJoins(unit).any(together);
}

}  // namespace lynxpp::ptx
