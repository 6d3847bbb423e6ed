// `lynxpp ptx stat`: prints statistics of a module's kernels and functions.
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <numeric>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/ptx/arguments.h"
#include "cli/ptx/ptx_input.h"
#include "ptx/analysis/analyses.h"
#include "ptx/analysis/calls/call_graph.h"

namespace lynxpp::cli {
namespace {

using ptx::FunctionAnalyses;

constexpr std::pair<ptx::OpcodeClass, const char*> class_names[] = {
    {ptx::OpcodeClass::arithmetic, "arithmetic"},
    {ptx::OpcodeClass::data, "data"},
    {ptx::OpcodeClass::memory, "memory"},
    {ptx::OpcodeClass::atomic, "atomic"},
    {ptx::OpcodeClass::branch, "branch"},
    {ptx::OpcodeClass::call, "call"},
    {ptx::OpcodeClass::exit, "exit"},
    {ptx::OpcodeClass::barrier, "barrier"},
    {ptx::OpcodeClass::fence, "fence"},
    {ptx::OpcodeClass::other, "other"},
};

constexpr std::pair<ptx::StateSpace, const char*> space_names[] = {
    {ptx::StateSpace::global, "global"},   {ptx::StateSpace::shared, "shared"},
    {ptx::StateSpace::local, "local"},     {ptx::StateSpace::constant, "const"},
    {ptx::StateSpace::generic, "generic"}, {ptx::StateSpace::texture, "texture"},
    {ptx::StateSpace::surface, "surface"},
};

void line(const char* label, const std::string& text) { std::printf("  %-14s%s\n", label, text.c_str()); }

void append(std::string& list, const std::string& entry) { list += (list.empty() ? "" : ", ") + entry; }

std::string instructions_of(const ptx::Body& body) {
  std::map<ptx::OpcodeClass, std::uint64_t> counts;
  std::uint64_t guarded = 0;
  for (const ptx::Instruction& instruction : body.instructions) {
    ++counts[instruction.traits.kind];
    guarded += instruction.guarded() ? 1 : 0;
  }
  std::string list;
  for (const auto& [kind, name] : class_names) {
    if (counts[kind] > 0) append(list, std::to_string(counts[kind]) + " " + name);
  }
  if (guarded > 0) list += "; " + std::to_string(guarded) + " guarded";
  return std::to_string(body.instructions.size()) + (list.empty() ? "" : ": " + list);
}

std::string registers_of(FunctionAnalyses& analyses) {
  std::uint64_t units = 0;
  std::uint64_t predicates = 0;
  for (const ptx::Register& reg : analyses.registers().registers()) {
    units += reg.units;
    predicates += reg.is_predicate ? 1 : 0;
  }
  const ptx::RegisterPressure pressure =
      ptx::estimate_register_pressure(analyses.graph(), analyses.registers(), analyses.liveness());
  std::string where;
  const auto& instructions = analyses.function().body->instructions;
  if (pressure.units > 0) where = " (line " + std::to_string(instructions[pressure.instruction].line) + ")";
  return "named " + counted(units, "unit") + " of 32 bits and " + counted(predicates, "predicate") +
         "; live at once " + std::to_string(pressure.units) + where + " and " +
         std::to_string(pressure.predicates);
}

std::string branches_of(FunctionAnalyses& analyses) {
  std::uint64_t branches = 0;
  std::uint64_t divergent = 0;
  for (std::uint32_t block = 0; block < analyses.graph().blocks.size(); ++block) {
    const ptx::BasicBlock& node = analyses.graph().blocks[block];
    if (node.successors.size() + (node.leaves_function ? 1 : 0) < 2) continue;
    ++branches;
    divergent += (analyses.uniformity().of_branch(block) & ptx::varies_in_warp) != 0 ? 1 : 0;
  }
  return std::to_string(branches) + " with a choice, " + std::to_string(divergent) +
         " of them may diverge in a warp";
}

void print_loops(FunctionAnalyses& analyses) {
  const ptx::LoopNest& nest = analyses.loops();
  std::string summary = std::to_string(nest.loops().size());
  if (!nest.irreducible_regions().empty())
    summary += ", and " + counted(nest.irreducible_regions().size(), "irreducible region");
  line("loops", summary);
  const ptx::AffineAnalysis& affine = analyses.affine();
  std::vector<std::uint32_t> order(nest.loops().size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t index) {
    return analyses.graph().blocks[nest.loops()[index].header].line;
  });
  for (const std::uint32_t index : order) {
    const ptx::Loop& loop = nest.loops()[index];
    const std::optional<std::uint64_t> trips = affine.trip_count(index);
    std::string text = "line " + std::to_string(analyses.graph().blocks[loop.header].line) + ": depth " +
                       std::to_string(loop.depth) + ", " + counted(loop.block_count, "block") +
                       ", trip count " + (trips ? std::to_string(*trips) : "unknown");
    for (const ptx::InductionVariable& variable : affine.induction_variables()) {
      if (variable.loop != index) continue;
      text += "; " + std::string(analyses.registers().registers()[variable.reg].name) + " = " +
              affine.text(variable.initial) + " step " + affine.text(variable.step);
    }
    line("", text);
  }
}

/// How a warp's lanes address memory: all the same address, addresses at a fixed stride, or any.
enum Shape { same, affine, irregular };

Shape shape_of(FunctionAnalyses& analyses, std::uint32_t at) {
  const ptx::Instruction& instruction = analyses.function().body->instructions[at];
  for (const ptx::Operand& operand : instruction.operands) {
    if (operand.kind != ptx::OperandKind::address) continue;
    if ((analyses.uniformity().of_operand(at, operand) & ptx::varies_in_warp) == 0) return same;
    break;
  }
  const std::optional<ptx::AffineForm> form = analyses.affine().of_address(at);
  if (!form) return irregular;
  const auto& symbols = analyses.affine().symbols();
  for (const ptx::Term& term : form->terms) {
    for (std::uint8_t index = 0; index < term.product.degree; ++index) {
      const ptx::Symbol& symbol = symbols[term.product.symbols[index]];
      if (symbol.kind != ptx::SymbolKind::value) continue;
      const ptx::Variance variance =
          analyses.uniformity().of_value_at(symbol.index, analyses.graph().block_of[at]);
      if ((variance & ptx::varies_in_warp) != 0) return irregular;
    }
  }
  return affine;
}

void print_accesses(FunctionAnalyses& analyses) {
  std::map<ptx::StateSpace, std::array<std::uint64_t, 3>> counts;
  const auto& instructions = analyses.function().body->instructions;
  for (std::uint32_t at = 0; at < instructions.size(); ++at) {
    const ptx::OpcodeTraits& traits = instructions[at].traits;
    if (traits.is_memory_access()) ++counts[traits.space].at(shape_of(analyses, at));
  }
  bool any = false;
  for (const auto& [space, name] : space_names) {
    const auto found = counts.find(space);
    if (found == counts.end()) continue;
    const auto& [one, regular, other] = found->second;
    const std::uint64_t all = one + regular + other;
    char share[32];
    std::snprintf(share, sizeof(share), "%.0f %%",
                  100.0 * static_cast<double>(one + regular) / static_cast<double>(all));
    line(any ? "" : "accesses", std::string(name) + " " + std::to_string(all) + ": " + std::to_string(one) +
                                    " uniform, " + std::to_string(regular) + " affine, " +
                                    std::to_string(other) + " irregular (" + share + " regular)");
    any = true;
  }
  if (!any) line("accesses", "none");
}

void print_function(const ptx::CallGraph& calls, const ptx::Function& function) {
  FunctionAnalyses analyses(function);
  const ptx::CallNode& node = calls.nodes()[calls.find(function.name)];
  std::printf("\n%s %s (line %u)\n", function.is_entry ? "kernel" : "function",
              readable_name(function).c_str(), function.line);
  const auto unreachable = analyses.graph().blocks.size() - analyses.dominators().reverse_post_order().size();
  line("blocks", std::to_string(analyses.graph().blocks.size()) +
                     (unreachable > 0 ? ", " + std::to_string(unreachable) + " unreachable" : ""));
  line("instructions", instructions_of(*function.body));
  line("registers", registers_of(analyses));
  line("branches", branches_of(analyses));
  print_loops(analyses);
  print_accesses(analyses);
  std::string callees;
  for (const std::uint32_t callee : node.callees)
    append(callees, readable_name(*calls.nodes()[callee].function));
  if (node.calls_indirectly) append(callees, "through pointers");
  if (node.is_recursive) callees += " (recursive)";
  if (!callees.empty()) line("calls", callees);
}

}  // namespace

int ptx_stat(const PtxArguments& arguments) {
  PtxInput input;
  if (!read_ptx_input(arguments.input, arguments.kernel, Wanted::kernels_and_functions, input))
    return exit_input_error;
  int exit_code = exit_success;
  for (ptx::Function& function : input.module.functions) {
    if (!function.is_declaration() && !parse_body_of(input, function)) exit_code = exit_input_error;
  }
  const ptx::CallGraph calls(input.module);
  std::vector<bool> wanted(calls.nodes().size(), arguments.kernel.empty());
  for (const std::string& name : input.functions) {
    for (const std::uint32_t node : calls.reachable_from(calls.find(name))) wanted[node] = true;
  }
  std::uint64_t kernels = 0;
  std::uint64_t functions = 0;
  for (const ptx::CallNode& node : calls.nodes()) {
    if (!node.function->is_declaration()) ++(node.function->is_entry ? kernels : functions);
  }
  std::printf("%s: PTX %d.%d for %s, %s, %s, %s\n", arguments.input.c_str(), input.module.version.major,
              input.module.version.minor, input.module.target.text.c_str(),
              counted(kernels, "kernel").c_str(), counted(functions, "device function").c_str(),
              counted(input.module.variables.size(), "variable").c_str());
  for (std::uint32_t node = 0; node < calls.nodes().size(); ++node) {
    const ptx::Function& function = *calls.nodes()[node].function;
    if (wanted[node] && function.body) print_function(calls, function);
  }
  return exit_code;
}

}  // namespace lynxpp::cli
