#include <algorithm>
#include <span>
#include <unordered_set>

#include "ptx/analysis/flow/control_flow_graph.h"

namespace lynxpp::ptx {
namespace {

class CallCollector {
 public:
  CallCollector(const Module& module, const Function& function)
      : module_(module),
        body_(*function.body),
        parameters_(function.parameters),
        has_function_like_register_(module.has_function_like_register()) {}

  CallSites collect() {
    for (const Instruction& instruction : body_.instructions) {
      if (instruction.traits.kind == OpcodeClass::call) {
        collect_call(instruction);
      } else if (instruction.traits.kind != OpcodeClass::branch) {  // branches name labels
        const std::uint32_t scope = body_.statements[instruction.statement].scope;
        for (const Operand& operand : instruction.operands) collect_addresses(operand, scope);
      }
    }
    for (const TargetList& list : body_.call_targets) {
      for (const std::string_view target : list.targets) add_address(target);
    }
    return std::move(sites_);
  }

 private:
  /// call (results), callee, (arguments), targets: the callee is the first operand that is not a list.
  void collect_call(const Instruction& call) {
    bool found = false;
    const std::uint32_t scope = body_.statements[call.statement].scope;
    for (const Operand& operand : call.operands) {
      if (found || operand.kind != OperandKind::identifier) {
        // An indirect callee is followed by the name of its target list, which is not a function.
        if (operand.kind == OperandKind::list) collect_addresses(operand, scope);
        continue;
      }
      found = true;
      if (call.calls_register) {
        sites_.indirect = true;
        continue;
      }
      const Function* const known = module_.find_function(operand.name);
      const std::string_view name = known != nullptr ? known->name : operand.name;
      if (direct_.insert(name).second) sites_.direct.push_back(name);
    }
  }

  void collect_addresses(const Operand& operand, std::uint32_t scope) {
    if (operand.kind == OperandKind::identifier && !is_own(operand.name, scope)) add_address(operand.name);
    for (const Operand& element : operand.elements) collect_addresses(element, scope);
  }

  /// True if a register, variable or parameter of the body hides a function of the same name.
  bool is_own(std::string_view name, std::uint32_t scope) const {
    // cheaper check with the same result
    if (!may_be_function(name) || module_.find_function(name) == nullptr) return false;
    return body_.find_register(name, scope) != nullptr || body_.find_variable(name, scope) != nullptr ||
           std::ranges::any_of(parameters_, [name](const Variable& own) { return own.name == name; });
  }

  /// Nearly all operand names begin with '%', and nearly no function name does.
  bool may_be_function(std::string_view name) const {
    return has_function_like_register_ || !name.starts_with('%');
  }

  void add_address(std::string_view name) {
    if (!may_be_function(name)) return;
    const Function* const known = module_.find_function(name);
    if (known != nullptr && addresses_.insert(known->name).second)
      sites_.address_taken.push_back(known->name);
  }

  const Module& module_;
  const Body& body_;
  std::span<const Variable> parameters_;
  bool has_function_like_register_;
  std::unordered_set<std::string_view> direct_;
  std::unordered_set<std::string_view> addresses_;
  CallSites sites_;
};

}  // namespace

CallSites find_calls(const Module& module, const Function& function) {
  return CallCollector(module, function).collect();
}

}  // namespace lynxpp::ptx
