#include "engine/reach.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ptx/ir/directives.h"
#include "ptx/parser/parser.h"

namespace lynxpp::engine {
namespace {

struct Reached {
  std::set<std::string, std::less<>> functions;  ///< with a body, except the kernel
  std::set<std::string, std::less<>> address_taken;
  std::set<std::string, std::less<>> undefined;  ///< called but only declared
  /// direct calls of functions with a body
  std::map<std::string, std::vector<std::string>, std::less<>> calls;
  bool indirect = false;
};

/// Parameters in registers (PTX before 2.0) leave no room for another argument.
bool has_register_parameters(const ptx::Function& function) {
  const auto in_register = [](const ptx::Variable& v) { return v.space == ptx::StateSpace::reg; };
  return std::any_of(function.parameters.begin(), function.parameters.end(), in_register) ||
         std::any_of(function.returns.begin(), function.returns.end(), in_register);
}

/// Variadic functions cannot take an extra trailing parameter.
bool has_unsized_parameter(const ptx::Function& function) {
  return std::ranges::any_of(function.parameters,
                             [](const ptx::Variable& parameter) { return parameter.elements == 0; });
}

Status visit(ptx::Module& module, const ptx::Function& kernel, ptx::Function& function, Reached& reached) {
  std::vector<ptx::Function*> pending{&function};
  while (!pending.empty()) {
    ptx::Function& current = *pending.back();
    pending.pop_back();
    if (Status parsed = ptx::parse_body(module, current); !parsed) return parsed;
    const ptx::CallSites calls = ptx::find_calls(module, current);
    reached.indirect |= calls.indirect;
    const auto add = [&](std::string_view name) {
      ptx::Function* callee = module.find_function(name);
      if (callee == nullptr || callee->is_declaration() || callee == &kernel) return false;
      if (reached.functions.emplace(callee->name).second) pending.push_back(callee);
      return true;
    };
    for (const std::string_view name : calls.direct) {
      const ptx::Function* const callee = module.find_function(name);
      if (callee != nullptr && callee->is_declaration() && !ptx::is_defined_by_driver(name))
        reached.undefined.emplace(name);
      if (add(name)) reached.calls[current.name].emplace_back(name);
    }
    for (const std::string_view name : calls.address_taken) {
      reached.address_taken.emplace(name);
      add(name);  // including kernels, which device-side launches name
    }
  }
  return success();
}

/// Adds functions named in initializers of module variables: tables of function pointers.
void add_functions_in_tables(ptx::Module& module, Reached& reached, std::vector<ptx::Function*>& more) {
  for (const ptx::Variable& variable : module.variables) {
    if (!variable.has_initializer) continue;
    const Result<ptx::InitialValue> value = ptx::parse_initial_value(module, variable);
    if (!value) continue;
    for (const ptx::Relocation& relocation : value->relocations) {
      ptx::Function* function = module.find_function(relocation.symbol);
      if (function == nullptr || function->is_declaration() || function->is_entry) continue;
      reached.address_taken.insert(function->name);
      if (reached.functions.insert(function->name).second) more.push_back(function);
    }
  }
}

/// Functions that cannot receive the probes' frame, and why: their address is taken, they take register
/// parameters or a variable number of arguments, or such a function calls them.
class Uninstrumented {
 public:
  Uninstrumented(const ptx::Module& module, const Reached& reached) : reached_(reached) {
    for (const std::string& name : reached.functions) {
      const ptx::Function& function = *module.find_function(name);
      if (function.is_entry) {
        exclude(name, "it is launched from the device");
      } else if (reached.address_taken.contains(name)) {
        exclude(name, "its address is taken");
      } else if (has_register_parameters(function)) {
        exclude(name, "it has register parameters");
      } else if (has_unsized_parameter(function)) {
        exclude(name, "it takes a variable number of arguments");
      }
    }
  }

  /// Null: the function can be instrumented.
  const std::string* why(const std::string& name) const {
    const auto found = reasons_.find(name);
    return found == reasons_.end() ? nullptr : &found->second;
  }

 private:
  void exclude(const std::string& name, const std::string& reason) {
    std::vector<std::pair<std::string, std::string>> pending{{name, reason}};
    while (!pending.empty()) {
      const auto [function, why] = std::move(pending.back());
      pending.pop_back();
      if (!reasons_.emplace(function, why).second) continue;
      const auto calls = reached_.calls.find(function);
      if (calls == reached_.calls.end()) continue;
      for (const std::string& callee : calls->second)
        pending.emplace_back(callee, "it is called by " + function + ", which is not");
    }
  }

  const Reached& reached_;
  std::map<std::string, std::string, std::less<>> reasons_;
};

/// Instrumenting an instrumented module would declare the same names twice.
Status has_no_reserved_names(const ptx::Module& module, const ptx::ReachedFunctions& reached) {
  std::string_view found;
  const auto look_at = [&](std::string_view name) {
    for (const std::string_view prefix : {"__lynxpp_", "%lynxpp_", "$lynxpp_"}) {
      if (name.starts_with(prefix)) found = name;
    }
  };
  for (const ptx::Variable& variable : module.variables) look_at(variable.name);
  for (const ptx::Function& function : module.functions) look_at(function.name);
  for (const ptx::FunctionUnit& function : reached.functions) {
    const ptx::Body& body = *function.function->body;
    for (const ptx::Variable& parameter : function.function->parameters) look_at(parameter.name);
    for (const ptx::Variable& variable : body.variables) look_at(variable.name);
    for (const ptx::RegisterDeclaration& declared : body.registers) look_at(declared.name);
    for (const ptx::Statement& statement : body.statements) {
      if (statement.kind == ptx::StatementKind::label) look_at(statement.name);
    }
  }
  if (found.empty()) return success();
  return failure("the name '" + std::string(found) + "' is reserved for instrumentation",
                 "the module is already instrumented; instrument the original");
}

}  // namespace

Result<ptx::ReachedFunctions> find_reachable(ptx::Module& module, const std::string& kernel,
                                             const ptx::LaunchShape& launch) {
  ptx::Function* entry = module.find_function(kernel);
  if (entry == nullptr || !entry->is_entry || entry->is_declaration()) {
    return failure("the module has no kernel '" + kernel + "'");
  }
  Reached reached;
  if (Status visited = visit(module, *entry, *entry, reached); !visited) return visited.error();
  if (reached.address_taken.contains(kernel))
    return failure("it launches itself from the device, which does not pass the hidden parameter");
  ptx::ReachedFunctions result;
  result.calls_indirectly = reached.indirect;
  result.address_taken.assign(reached.address_taken.begin(), reached.address_taken.end());
  if (reached.indirect) {
    std::vector<ptx::Function*> more;
    add_functions_in_tables(module, reached, more);
    for (ptx::Function* function : more) {
      if (Status visited = visit(module, *entry, *function, reached); !visited) return visited.error();
    }
  }

  result.undefined.assign(reached.undefined.begin(), reached.undefined.end());

  ptx::LaunchShape shape = launch;
  shape.most_threads = std::min(launch.most_threads, ptx::most_threads(module, *entry));
  const Uninstrumented uninstrumented(module, reached);
  const auto add = [&](const ptx::Function& function, bool instrumented) {
    ptx::FunctionUnit added;
    added.function = &function;
    added.analyses = std::make_shared<ptx::FunctionAnalyses>(function, shape);
    added.instrumented = instrumented;
    if (instrumented) {
      added.first_block = result.basic_blocks;
      added.first_instruction = result.instructions;
      result.basic_blocks += static_cast<std::uint32_t>(added.graph().blocks.size());
      result.instructions += static_cast<std::uint32_t>(function.body->instructions.size());
    }
    result.add(std::move(added));
  };
  add(*entry, true);
  for (const ptx::Function& function : module.functions) {
    if (function.is_declaration() || !reached.functions.contains(function.name)) continue;
    // Assemblers reject this, and calls were resolved to only one of the two.
    if (module.find_function(function.name) != &function)
      return failure("the module defines the function '" + function.name + "' twice");
    const std::string* const reason = uninstrumented.why(function.name);
    if (reason != nullptr)
      result.notes.push_back((function.is_entry ? "kernel " : "device function ") + function.name +
                             " is not instrumented: " + *reason);
    add(function, reason == nullptr);
  }
  if (reached.indirect && reached.address_taken.empty()) {
    result.notes.emplace_back("indirect calls: the functions they reach are not instrumented");
  }
  if (Status named = has_no_reserved_names(module, result); !named) return named.error();
  return result;
}

}  // namespace lynxpp::engine
