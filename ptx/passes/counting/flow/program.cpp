#include "ptx/passes/counting/flow/program.h"

#include <algorithm>
#include <ranges>

#include "ptx/analysis/calls/call_graph.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t no_function = 0xffffffff;

class FunctionFinder {
 public:
  explicit FunctionFinder(InstrumentationUnit& unit) : unit_(unit) {}

  std::vector<CountedFunction> run() {
    for (const std::uint32_t index : callers_first()) {
      CountedFunction function;
      function.unit = &unit_.reached.functions[index];
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
    recursive_.assign(unit_.reached.functions.size(), false);
    if (unit_.reached.functions.size() == 1) return {0};
    const CallGraph calls(unit_.module);
    std::vector<std::uint32_t> order;
    for (const std::uint32_t each : calls.callees_first() | std::views::reverse) {
      const CallNode& node = calls.nodes()[each];
      const FunctionUnit* const function = unit_.reached.find(node.function->name);
      if (function == nullptr || function->function != node.function) continue;
      const auto index = unit_.reached.position_of(*function);
      recursive_[index] = node.is_recursive;
      if (function->instrumented) order.push_back(index);
    }
    return order;
  }

  /// Finds calls from which threads may not return because they exit the kernel. `trap` ends the launch, so
  /// it does not count as an exit.
  void find_exits() {
    std::vector<bool> may_exit(unit_.reached.functions.size());
    for (bool changed = true; changed;) {
      changed = false;
      for (std::uint32_t index = 0; index < unit_.reached.functions.size(); ++index) {
        if (may_exit[index]) continue;
        const auto& instructions = unit_.reached.functions[index].function->body->instructions;
        may_exit[index] = std::ranges::any_of(instructions, [&](const Instruction& instruction) {
          if (instruction.opcode == "exit") return true;
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
    const FunctionUnit* const callee = unit_.reached.find(direct_callee(unit_.module, instruction));
    return callee == nullptr ? no_function : unit_.reached.position_of(*callee);
  }

  /// If each call site of a function is counted by its block, the function's entry needs no counter.
  void find_callers() {
    std::vector<bool> is_counted = recursive_;
    std::vector<std::vector<std::pair<std::size_t, std::uint32_t>>> callers(unit_.reached.functions.size());
    std::vector<std::size_t> position(unit_.reached.functions.size(), functions_.size());
    for (std::size_t i = 0; i < functions_.size(); ++i) position[functions_[i].index] = i;
    for (std::uint32_t index = 0; index < unit_.reached.functions.size(); ++index) {
      const auto note = [&](std::uint32_t block, const Instruction& call, std::uint32_t callee) {
        if (call.guarded() || position[index] == functions_.size()) is_counted[callee] = true;
        callers[callee].emplace_back(position[index], block);
      };
      visit_calls(unit_.reached.functions[index], note);
    }
    for (CountedFunction& function : functions_) {
      function.entry_is_known = function.is_kernel() || !is_counted[function.index];
      if (!function.is_kernel() && function.entry_is_known)
        function.callers = std::move(callers[function.index]);
    }
  }

  InstrumentationUnit& unit_;
  std::vector<CountedFunction> functions_;
  std::vector<bool> recursive_;
};

}  // namespace

std::vector<CountedFunction> find_counted_functions(InstrumentationUnit& unit) {
  return FunctionFinder(unit).run();
}

}  // namespace lynxpp::ptx
