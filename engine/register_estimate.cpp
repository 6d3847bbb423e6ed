#include "engine/register_estimate.h"

#include <algorithm>

#include "ptx/parser/parser.h"

namespace lynxpp::engine {
namespace {

std::uint32_t pressure_of(ptx::FunctionAnalyses& analyses) {
  return ptx::estimate_register_pressure(analyses.graph(), analyses.registers(), analyses.liveness()).units;
}

}  // namespace

Result<RegisterEstimate> estimate_registers(ptx::InstrumentationUnit& unit, const std::string& variant) {
  RegisterEstimate estimate;
  Result<ptx::Module> module = ptx::parse_module(variant, "<instrumented>");
  if (!module) return module.error();
  for (const ptx::FunctionUnit& original : unit.reached.functions) {
    if (!original.instrumented) continue;
    estimate.original = std::max(estimate.original, pressure_of(*original.analyses));
    ptx::Function* const function = module->find_function(original.function->name);
    if (function == nullptr || function->is_declaration()) continue;
    if (Status parsed = ptx::parse_body(*module, *function, "<instrumented>"); !parsed) return parsed.error();
    ptx::FunctionAnalyses analyses(*function);
    estimate.instrumented = std::max(estimate.instrumented, pressure_of(analyses));
  }
  for (ptx::Function& function : module->functions) {
    if (function.is_declaration() || !function.name.starts_with(ptx::routine_function_prefix)) continue;
    if (Status parsed = ptx::parse_body(*module, function, "<instrumented>"); !parsed) return parsed.error();
    ptx::FunctionAnalyses analyses(function);
    estimate.instrumented = std::max(estimate.instrumented, pressure_of(analyses));
  }
  return estimate;
}

}  // namespace lynxpp::engine
