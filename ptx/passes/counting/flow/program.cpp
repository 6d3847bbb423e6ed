#include "ptx/passes/counting/flow/program.h"

#include <algorithm>
#include <ranges>

#include "ptx/analysis/calls/call_graph.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t no_function = 0xffffffff;

class FunctionFinder {
 public:
  FunctionFinder(const Module& module, const ReachedFunctions& reached)
      : module_(module), reached_(reached) {}

  std::vector<CountedFunction> run() {
    for (const std::uint32_t index : callers_first()) {
      CountedFunction function;
      function.unit = &reached_.functions[index];
      function.analyses = function.unit->analyses.get();
      function.index = index;
      function.call_may_exit.assign(function.graph().blocks.size(), false);
      functions_.push_back(std::move(function));
    }
    find_exits();
    find_callers();
    return std::move(functions_);
  }

 private:
  std::vector<std::uint32_t> callers_first() {
    recursive_.assign(reached_.functions.size(), false);
    if (reached_.functions.size() == 1) return {0};
    const CallGraph calls(module_);
    std::vector<std::uint32_t> order;
    for (const std::uint32_t each : calls.callees_first() | std::views::reverse) {
      const CallNode& node = calls.nodes()[each];
      const FunctionUnit* const function = reached_.find(node.function->name);
      if (function == nullptr || function->function != node.function) continue;
      const auto index = reached_.position_of(*function);
      recursive_[index] = node.is_recursive;
      if (function->instrumented) order.push_back(index);
    }
    return order;
  }

  /// Finds calls from which threads may not return because they exit the kernel. `trap` ends the launch, so
  /// it does not count as an exit.
  void find_exits() {
    std::vector<bool> may_exit(reached_.functions.size());
    for (bool changed = true; changed;) {
      changed = false;
      for (std::uint32_t index = 0; index < reached_.functions.size(); ++index) {
        if (may_exit[index]) continue;
        const auto& instructions = reached_.functions[index].function->body->instructions;
        may_exit[index] = std::ranges::any_of(instructions, [&](const Instruction& instruction) {
          if (instruction.op() == Op::exit) return true;
          const std::uint32_t callee = callee_of(instruction);
          return callee != no_function && may_exit[callee];
        });
        changed |= may_exit[index];
      }
    }
    for (CountedFunction& function : functions_) {
      visit_calls(*function.unit, [&](std::uint32_t block, const Instruction&, std::uint32_t callee) {
        if (!may_exit[callee]) return;
        function.call_may_exit[block] = true;
        function.loses_registers = true;
      });
    }
  }

  /// Calls `visit(block, call, callee)` for each block that ends in a direct call of one of the unit's
  /// functions.
  template <typename Visit>
  void visit_calls(const FunctionUnit& function, const Visit& visit) const {
    const std::vector<BasicBlock>& blocks = function.graph().blocks;
    for (std::uint32_t block = 0; block < blocks.size(); ++block) {
      if (blocks[block].size() == 0) continue;
      const Instruction& last = function.function->body->instructions[blocks[block].end - 1];
      if (const std::uint32_t callee = callee_of(last); callee != no_function) visit(block, last, callee);
    }
  }

  /// Returns the index of the directly called function of the unit, or no_function.
  std::uint32_t callee_of(const Instruction& instruction) const {
    if (instruction.traits.kind != OpcodeClass::call) return no_function;
    const FunctionUnit* const callee = reached_.find(direct_callee(module_, instruction));
    return callee == nullptr ? no_function : reached_.position_of(*callee);
  }

  /// If each call site of a function is counted by its block, the function's entry needs no counter.
  void find_callers() {
    std::vector<bool> is_counted = recursive_;
    std::vector<std::vector<std::pair<std::size_t, std::uint32_t>>> callers(reached_.functions.size());
    std::vector<std::size_t> position(reached_.functions.size(), functions_.size());
    for (std::size_t i = 0; i < functions_.size(); ++i) position[functions_[i].index] = i;
    for (std::uint32_t index = 0; index < reached_.functions.size(); ++index) {
      const auto note = [&](std::uint32_t block, const Instruction& call, std::uint32_t callee) {
        if (call.guarded() || position[index] == functions_.size()) is_counted[callee] = true;
        callers[callee].emplace_back(position[index], block);
      };
      visit_calls(reached_.functions[index], note);
    }
    for (CountedFunction& function : functions_) {
      function.entry_is_known = function.is_kernel() || !is_counted[function.index];
      if (!function.is_kernel() && function.entry_is_known)
        function.callers = std::move(callers[function.index]);
    }
  }

  const Module& module_;
  const ReachedFunctions& reached_;
  std::vector<CountedFunction> functions_;
  std::vector<bool> recursive_;
};

}  // namespace

std::vector<CountedFunction> find_counted_functions(const Module& module, const ReachedFunctions& reached) {
  return FunctionFinder(module, reached).run();
}

}  // namespace lynxpp::ptx
