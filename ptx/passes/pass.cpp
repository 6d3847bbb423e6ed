#include "ptx/passes/pass.h"

#include <chrono>

namespace lynxpp::ptx {

Status PassManager::run(InstrumentationUnit& unit) {
  timings_.clear();
  for (const std::unique_ptr<Pass>& pass : passes_) {
    const auto begin = std::chrono::steady_clock::now();
    Result<bool> changed = pass->run(unit);
    Status verified = changed && *changed && verifier_ ? verifier_(unit) : success();
    if (!changed || !verified) {
      Failure problem = changed ? std::move(verified.error()) : std::move(changed.error());
      if (!problem.diagnostics.empty()) {
        std::string& message = problem.diagnostics.front().message;
        message = "pass '" + std::string(pass->name()) + "': " + message;
      }
      return problem;
    }
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
    timings_.push_back({std::string(pass->name()), spent.count(), *changed});
  }
  return success();
}

std::string_view direct_callee(const Module& module, const Instruction& call) {
  for (const Operand& operand : call.operands) {
    if (operand.kind != OperandKind::identifier) continue;
    return module.find_function(operand.name) != nullptr ? operand.name : std::string_view{};
  }
  return {};
}

}  // namespace lynxpp::ptx
