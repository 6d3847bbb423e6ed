#include "ptx/passes/reached.h"

namespace lynxpp::ptx {

std::string_view direct_callee(const Module& module, const Instruction& call) {
  if (call.calls_register) return {};
  for (const Operand& operand : call.operands) {
    if (operand.kind != OperandKind::identifier) continue;
    const Function* const function = module.find_function(operand.name);
    return function != nullptr ? function->name : std::string_view{};
  }
  return {};
}

}  // namespace lynxpp::ptx
