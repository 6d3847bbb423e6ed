// Scans any bytes as a PTX module, and parses, analyses and emits every body. Nothing may crash, hang or
// leak; valid text must be emitted unchanged, and errors must have a location. Bodies are parsed with both
// parsers, which must agree.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "ptx/analysis/analyses.h"
#include "ptx/analysis/calls/call_graph.h"
#include "ptx/emitter/emitter.h"
#include "ptx/parser/parser.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void analyse(const lynxpp::ptx::Function& function) {
  lynxpp::ptx::FunctionAnalyses analyses(function);
  lynxpp::ptx::estimate_register_pressure(analyses.graph(), analyses.registers(), analyses.liveness());
  analyses.post_dominators();
  analyses.uniformity();
  const lynxpp::ptx::AffineAnalysis& affine = analyses.affine();
  for (std::uint32_t at = 0; at < function.body->instructions.size(); ++at) {
    if (const auto form = affine.of_address(at)) require(!affine.text(*form).empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  auto module = lynxpp::ptx::parse_module(text, "fuzz.ptx");
  if (!module) {
    require(!module.error().diagnostics.empty());
    return 0;
  }
  require(lynxpp::ptx::emit(*module, {}) == module->source());
  for (lynxpp::ptx::Function& function : module->functions) {
    if (function.is_declaration()) continue;
    lynxpp::ptx::Function reference = function;
    const auto parsed = lynxpp::ptx::parse_body(*module, function, "fuzz.ptx");
    const auto expected =
        lynxpp::ptx::parse_body(*module, reference, "fuzz.ptx", lynxpp::ptx::BodyParsing::grammar);
    require(static_cast<bool>(parsed) == static_cast<bool>(expected));
    require(!parsed || *function.body == *reference.body);
    if (!parsed) {
      for (const lynxpp::Diagnostic& diagnostic : parsed.error().diagnostics)
        require(diagnostic.location.line > 0 && diagnostic.location.column > 0);
    } else {
      analyse(function);
    }
  }
  for (const lynxpp::ptx::Variable& variable : module->variables) {
    // A short text may validly declare a large array, which would only take memory.
    if (variable.size_bytes() < (1U << 20)) (void)lynxpp::ptx::parse_initial_value(*module, variable);
  }
  const lynxpp::ptx::CallGraph calls(*module);
  require(calls.callees_first().size() == calls.nodes().size());
  return 0;
}
