#include "engine/reach.h"

#include <algorithm>
#include <set>

#include "ptx/parser/parser.h"

namespace lynxpp::engine {
namespace {

struct Reached {
  std::set<std::string, std::less<>> functions;  ///< with a body, the kernel excepted
  std::set<std::string, std::less<>> address_taken;
  bool indirect = false;
};

/// Parameters in registers (PTX before 2.0) leave no room for another argument.
bool has_register_parameters(const ptx::Function& function) {
  const auto in_register = [](const ptx::Variable& v) { return v.space == ptx::StateSpace::reg; };
  return std::any_of(function.parameters.begin(), function.parameters.end(), in_register) ||
         std::any_of(function.returns.begin(), function.returns.end(), in_register);
}

Status visit(ptx::Module& module, ptx::Function& function, Reached& reached) {
  std::vector<ptx::Function*> pending{&function};
  while (!pending.empty()) {
    ptx::Function& current = *pending.back();
    pending.pop_back();
    if (Status parsed = ptx::parse_body(module, current); !parsed) return parsed;
    const ptx::CallSites calls = ptx::find_calls(module, current);
    reached.indirect |= calls.indirect;
    const auto add = [&](std::string_view name) {
      ptx::Function* callee = module.find_function(name);
      if (callee == nullptr || callee->is_declaration() || callee->is_entry) return;
      if (reached.functions.emplace(name).second) pending.push_back(callee);
    };
    for (std::string_view name : calls.direct) add(name);
    for (std::string_view name : calls.address_taken) {
      reached.address_taken.emplace(name);
      add(name);
    }
  }
  return success();
}

/// Names of functions that initialisers of module variables mention: tables of function pointers.
void add_functions_in_tables(ptx::Module& module, Reached& reached, std::vector<ptx::Function*>& more) {
  for (const ptx::Variable& variable : module.variables) {
    if (!variable.has_initializer) continue;
    const Result<ptx::InitialValue> value = ptx::parse_initial_value(module, variable);
    if (!value) continue;
    for (const ptx::Relocation& relocation : value->relocations) {
      ptx::Function* function = module.find_function(relocation.symbol);
      if (function == nullptr || function->is_declaration() || function->is_entry) continue;
      reached.address_taken.insert(relocation.symbol);
      if (reached.functions.insert(relocation.symbol).second) more.push_back(function);
    }
  }
}

}  // namespace

Status find_reachable(ptx::Module& module, const std::string& kernel, ptx::InstrumentationUnit& unit) {
  ptx::Function* entry = module.find_function(kernel);
  if (entry == nullptr || !entry->is_entry || entry->is_declaration()) {
    return failure("the module has no kernel '" + kernel + "'");
  }
  Reached reached;
  if (Status visited = visit(module, *entry, reached); !visited) return visited;
  unit.calls_indirectly = reached.indirect;
  if (reached.indirect) {
    std::vector<ptx::Function*> more;
    add_functions_in_tables(module, reached, more);
    for (ptx::Function* function : more) {
      if (Status visited = visit(module, *function, reached); !visited) return visited;
    }
  }

  const auto add = [&](const ptx::Function& function, bool instrumented) {
    ptx::FunctionUnit added;
    added.function = &function;
    added.graph = ptx::build_control_flow_graph(function);
    added.instrumented = instrumented;
    if (instrumented) {
      added.first_block = unit.basic_blocks;
      added.first_instruction = unit.instructions;
      unit.basic_blocks += static_cast<std::uint32_t>(added.graph.blocks.size());
      unit.instructions += static_cast<std::uint32_t>(function.body->instructions.size());
    }
    unit.functions.push_back(std::move(added));
  };
  add(*entry, true);
  for (const ptx::Function& function : module.functions) {
    if (function.is_declaration() || !reached.functions.contains(function.name)) continue;
    const bool taken = reached.address_taken.contains(function.name);
    const bool instrumented = !taken && !has_register_parameters(function);
    if (!instrumented) {
      unit.notes.push_back("device function " + function.name + " is not instrumented: " +
                           (taken ? "its address is taken" : "its parameters are registers"));
    }
    add(function, instrumented);
  }
  if (reached.indirect && reached.address_taken.empty()) {
    unit.notes.emplace_back("indirect calls: the functions they reach are not instrumented");
  }
  return success();
}

}  // namespace lynxpp::engine
