#include "engine/register_estimate.h"

#include <algorithm>

#include "ptx/parser/parser.h"
#include "ptx/passes/probes/routine_functions.h"

namespace lynxpp::engine {
namespace {

std::uint32_t pressure_of(ptx::FunctionAnalyses& analyses) {
  return ptx::estimate_register_pressure(analyses.graph(), analyses.registers(), analyses.liveness()).units;
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
    ptx::FunctionAnalyses analyses(function);
    estimate.instrumented = std::max(estimate.instrumented, pressure_of(analyses));
  }
  return estimate;
}

}  // namespace lynxpp::engine
