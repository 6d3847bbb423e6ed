#include "ptx/passes/counting/refine/loop_periods.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <string_view>

#include "ptx/analysis/opcode_modifiers.h"

namespace lynxpp::ptx {
namespace {

constexpr std::size_t most_values = 64;  // maximum number of values followed from a loop's tests

class ExitTests {
 public:
  ExitTests(const CountedFunction& function, std::uint32_t loop)
      : graph_(function.graph()),
        instructions_(function.instructions()),
        loops_(function.analyses->loops()),
        dominators_(function.analyses->dominators()),
        registers_(function.analyses->registers()),
        ssa_(function.analyses->ssa()),
        loop_(loop) {
    for (const InductionVariable& variable : function.analyses->affine().induction_variables()) {
      if (variable.loop == loop) variables_.emplace(variable.phi, &variable);
    }
  }

  std::optional<std::uint32_t> run() {
    const Loop& loop = loops_.loops()[loop_];
    const auto is_known = [&](std::uint32_t block) { return is_known_exit(loop, block); };
    if (loop.exiting.empty() || !std::ranges::all_of(loop.exiting, is_known)) return std::nullopt;
    return period_;
  }

 private:
  bool is_known_exit(const Loop& loop, std::uint32_t block) {
    const BasicBlock& range = graph_.blocks[block];
    if (loops_.loop_of(block) != loop_ || range.leaves_function || range.size() == 0 ||
        range.successors.size() != 2)
      return false;
    const Instruction& branch = instructions_[range.end - 1];
    if (branch.traits.kind != OpcodeClass::branch || !branch.guarded() || branch.opcode.starts_with("brx"))
      return false;
    const RegisterId predicate = registers_.find(branch.guard.predicate, range.end - 1);
    return std::ranges::all_of(loop.latches,
                               [&](std::uint32_t latch) { return dominators_.dominates(block, latch); }) &&
           predicate != no_register && is_determined(ssa_.read_of(range.end - 1, predicate));
  }

  /// True if the value is determined by the loop's induction variables and loop-invariant values.
  bool is_determined(ValueId id) {
    if (id == no_value) return false;
    const Value& value = ssa_.values()[id];
    if (value.kind == ValueKind::entry || !loops_.contains(loop_, value.block)) return true;
    if (value.kind == ValueKind::phi) return is_variable(id);
    const auto [known, is_new] = known_.try_emplace(id, true);
    if (!is_new) return known->second;
    if (known_.size() > most_values || value.previous != no_value || !computes(value.instruction))
      return known->second = false;
    return known->second = std::ranges::all_of(ssa_.reads(value.instruction),
                                               [&](ValueId read) { return is_determined(read); });
  }

  bool is_variable(ValueId phi) {
    const auto found = variables_.find(phi);
    if (found == variables_.end()) return false;
    const InductionVariable& variable = *found->second;
    const std::uint32_t units = registers_.registers()[variable.reg].units;
    if (!variable.step.is_constant() || !variable.step.exact || variable.step.constant == 0 ||
        (units != 1 && units != 2))
      return false;
    period_ = std::max(period_, 32 * units - power_of_two_in(variable.step.constant));
    return true;
  }

  /// True if the result is a function of the source registers only.
  bool computes(std::uint32_t at) const {
    static constexpr std::array roots = {"setp", "add", "sub", "mul", "mad", "neg", "not",  "and", "or",
                                         "xor",  "shl", "shr", "min", "max", "cvt", "selp", "mov", "abs"};
    const Instruction& instruction = instructions_[at];
    const bool is_known = std::ranges::any_of(
        roots, [root = opcode_root(instruction.opcode)](std::string_view each) { return each == root; });
    return is_known && std::all_of(instruction.operands.begin(), instruction.operands.end(),
                                   [&](const Operand& operand) { return is_plain(operand, at); });
  }

  bool is_plain(const Operand& operand, std::uint32_t at) const {
    switch (operand.kind) {
      case OperandKind::integer:
      case OperandKind::floating:
      case OperandKind::sink: return true;
      case OperandKind::identifier: return registers_.find(operand.name, at) != no_register;
      case OperandKind::pair:
        return std::all_of(operand.elements.begin(), operand.elements.end(),
                           [&](const Operand& element) { return is_plain(element, at); });
      default: return false;
    }
  }

  const ControlFlowGraph& graph_;
  const std::vector<Instruction>& instructions_;
  const LoopNest& loops_;
  const DominatorTree& dominators_;
  const RegisterUsage& registers_;
  const SsaForm& ssa_;
  const std::uint32_t loop_;
  std::map<ValueId, const InductionVariable*> variables_;
  std::map<ValueId, bool> known_;
  std::uint32_t period_ = 0;
};

}  // namespace

std::uint32_t power_of_two_in(std::int64_t number) {
  return static_cast<std::uint32_t>(std::countr_zero(static_cast<std::uint64_t>(number)));
}

std::optional<std::uint32_t> log_of_most_tests(const CountedFunction& function, std::uint32_t loop) {
  return ExitTests(function, loop).run();
}

}  // namespace lynxpp::ptx
