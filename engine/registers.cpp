#include "engine/registers.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "ptx/analysis/analyses.h"
#include "ptx/ir/directives.h"
#include "ptx/parser/parser.h"
#include "ptx/passes/cost_model.h"
#include "ptx/passes/probes/routine_functions.h"

namespace lynxpp::engine {
namespace {

constexpr std::uint32_t registers_of_multiprocessor = 65536;
constexpr std::uint32_t most_of_thread = 255;
/// Live registers at the program points that share one register count.
struct Need {
  std::uint32_t registers = 0;  ///< maximum, in 32-bit registers
  bool has_calls = false;       ///< calls functions that the module defines
};
/// By register count.
using Needs = std::map<std::uint32_t, Need>;

/// Returns the maximum number of registers that may be live across calls. Without a spare register, the
/// search of ptxas 13.0 does not terminate. Without calls it spills even 131 of 40.
std::uint32_t most_live(std::uint32_t registers) {
  constexpr std::uint32_t spare = 2;
  return registers > spare ? registers - spare : 0;
}

/// Returns the registers of each thread at kernel entry.
std::uint32_t registers_at_entry(const ptx::Module& module, const ptx::Function& kernel) {
  const std::vector<std::uint32_t> asked = ptx::directive_values(module, kernel, ".maxnreg");
  if (!asked.empty()) return asked.front();
  const std::vector<std::uint32_t> block = ptx::block_limits(module, kernel);
  if (block.empty()) return most_of_thread;
  std::uint64_t threads = 1;
  for (const std::uint32_t each : block) threads *= std::max(1u, each);
  const std::vector<std::uint32_t> blocks = ptx::directive_values(module, kernel, ".minnctapersm");
  threads *= blocks.empty() ? 1 : std::max(1u, blocks.front());
  const std::uint64_t each = registers_of_multiprocessor / std::max<std::uint64_t>(threads, 1) / 8 * 8;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(each, 8, most_of_thread));
}

/// Returns the register count that a setmaxnreg sets; nullopt for other instructions.
std::optional<std::uint32_t> registers_set(const ptx::Instruction& instruction) {
  if (instruction.op() != ptx::Op::setmaxnreg || instruction.operands.empty() ||
      instruction.operands.front().kind != ptx::OperandKind::integer)
    return std::nullopt;
  return static_cast<std::uint32_t>(instruction.operands.front().integer);
}

/// Returns the registers of each thread before each instruction: the minimum over all paths that reach it.
std::vector<std::uint32_t> registers_had(const ptx::Function& kernel, const ptx::ControlFlowGraph& graph,
                                         std::uint32_t at_entry) {
  const std::vector<ptx::Instruction>& instructions = kernel.body->instructions;
  constexpr std::uint32_t unknown = ~0u;
  std::vector<std::uint32_t> had(instructions.size(), unknown);
  std::vector<std::uint32_t> into(graph.blocks.size(), unknown);
  std::vector<std::uint32_t> work{0};
  if (!into.empty()) into[0] = at_entry;
  while (!work.empty()) {
    const std::uint32_t block = work.back();
    work.pop_back();
    std::uint32_t now = into[block];
    for (std::uint32_t at = graph.blocks[block].begin; at < graph.blocks[block].end; ++at) {
      had[at] = now;
      now = registers_set(instructions[at]).value_or(now);
    }
    for (const std::uint32_t next : graph.blocks[block].successors) {
      if (into[next] <= now) continue;
      into[next] = now;
      work.push_back(next);
    }
  }
  return had;
}

/// Returns the maximum number of live 32-bit registers.
std::uint32_t pressure_of(ptx::FunctionAnalyses& analyses) {
  return ptx::estimate_register_pressure(analyses.graph(), analyses.registers(), analyses.liveness()).units;
}

/// The same; 0 for a function whose body is missing or does not parse.
std::uint32_t pressure_of(const ptx::Module& module, ptx::Function& function) {
  if (function.is_declaration() ||
      (!function.body && !ptx::parse_body(module, function, "<instrumented>").ok()))
    return 0;
  ptx::FunctionAnalyses analyses(function);
  return pressure_of(analyses);
}

/// Requires a parsed body of the kernel.
Needs needs_of(ptx::Module& module, ptx::Function& kernel) {
  Needs needs;
  ptx::FunctionAnalyses analyses(kernel);
  const std::vector<std::uint32_t> live =
      ptx::live_registers(analyses.graph(), analyses.registers(), analyses.liveness());
  const std::vector<std::uint32_t> had =
      registers_had(kernel, analyses.graph(), registers_at_entry(module, kernel));
  std::map<std::string_view, std::uint32_t> callees;
  for (ptx::Function& each : module.functions) {
    if (!each.is_entry) callees.emplace(each.name, pressure_of(module, each));
  }
  for (std::size_t at = 0; at < live.size(); ++at) {
    std::uint32_t called = 0;
    const ptx::Instruction& instruction = kernel.body->instructions[at];
    if (instruction.op() == ptx::Op::call) {
      for (const ptx::Operand& operand : instruction.operands) {
        const auto callee = callees.find(operand.name);
        if (operand.kind == ptx::OperandKind::identifier && callee != callees.end()) called = callee->second;
      }
    }
    Need& need = needs[had[at]];
    need.registers = std::max(need.registers, live[at] + called);
    need.has_calls |= called != 0;
  }
  return needs;
}

bool sets_registers(const ptx::Function& kernel) {
  return std::ranges::any_of(kernel.body->instructions,
                             [](const ptx::Instruction& each) { return registers_set(each).has_value(); });
}

}  // namespace

Result<RegisterEstimate> estimate_registers(const ptx::ReachedFunctions& reached,
                                            const std::string& variant) {
  RegisterEstimate estimate;
  Result<ptx::Module> module = ptx::parse_module(variant, "<instrumented>");
  if (!module) return module.error();
  for (const ptx::FunctionUnit& function : reached.instrumented())
    estimate.original = std::max(estimate.original, pressure_of(*function.analyses));
  for (ptx::Function& function : module->functions) {
    const ptx::FunctionUnit* const original = reached.find(function.name);
    const bool is_instrumented = original != nullptr && original->instrumented;
    const bool is_of_handlers = function.name.starts_with(ptx::routine_function_prefix);
    if (function.is_declaration() || (!is_instrumented && !is_of_handlers)) continue;
    if (Status parsed = ptx::parse_body(*module, function, "<instrumented>"); !parsed) return parsed.error();
    estimate.instrumented = std::max(estimate.instrumented, pressure_of(*module, function));
  }
  return estimate;
}

bool has_few_registers(const ptx::Module& module, const ptx::FunctionUnit& kernel) {
  if (!sets_registers(*kernel.function)) return false;
  ptx::FunctionAnalyses& analyses = *kernel.analyses;
  const std::vector<std::uint32_t> live =
      ptx::live_registers(analyses.graph(), analyses.registers(), analyses.liveness());
  const std::vector<std::uint32_t> had =
      registers_had(*kernel.function, analyses.graph(), registers_at_entry(module, *kernel.function));
  for (std::size_t at = 0; at < live.size(); ++at) {
    if (live[at] + ptx::cost::registers_of_counters > had[at]) return true;
  }
  return false;
}

Status check_register_budget(const ptx::Module& module, const ptx::Function& kernel,
                             const std::string& variant) {
  if (variant.find("setmaxnreg") == std::string::npos) return success();
  Result<ptx::Module> before = ptx::parse_module(module.source());
  Result<ptx::Module> after = ptx::parse_module(variant, "<instrumented>");
  if (!before || !after) return success();  // the loader reports the reason
  ptx::Function* const was = before->find_function(kernel.name);
  ptx::Function* const is = after->find_function(kernel.name);
  if (was == nullptr || is == nullptr || !ptx::parse_body(*before, *was, "<original>").ok() ||
      !ptx::parse_body(*after, *is, "<instrumented>").ok())
    return success();
  if (!sets_registers(*was)) return success();
  Needs needed_before = needs_of(*before, *was);
  for (const auto& [registers, need] : needs_of(*after, *is)) {
    if (!need.has_calls || need.registers <= most_live(registers) ||
        need.registers <= needed_before[registers].registers)
      continue;
    return failure("setmaxnreg leaves the kernel " + std::to_string(registers) +
                   " registers, and in the variant about " + std::to_string(need.registers) +
                   " values would be live at once, across calls");
  }
  return success();
}

}  // namespace lynxpp::engine
