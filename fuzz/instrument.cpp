// Instruments any PTX that parses, with a handler at every target: the passes' output must be well-formed for
// every input. Nothing may crash, hang or leak; kernels may be rejected, but never because a pass produced
// invalid code.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "engine/instrument.h"
#include "ptx/parser/parser.h"

namespace {

constexpr const char* specification_text = R"(
global unsigned long counts[INSTRUCTIONS];
unsigned long executed = 0;
ON_KERNEL_ENTRY: { executed += laneId(); }
ON_BASIC_BLOCK_ENTRY: { atomicAdd(&counts[basicBlockId()], 1); }
ON_BASIC_BLOCK_EXIT: { executed += basicBlockExecutedInstructionCount(); }
ON_INSTRUCTION: { counts[instructionId()] += accessSize() + getPredicateValue(); }
ON_INSTRUCTION: MEM_READ: MEM_WRITE: { executed += memoryAddress(); }
ON_KERNEL_EXIT: { atomicAdd(&counts[0], executed); }
)";

lynxpp::engine::SpecificationPtr specification() {
  static const auto compiled = lynxpp::cod::compile(specification_text, "fuzz.cod");
  if (!compiled) std::abort();
  return *compiled;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (text.find("lynxpp_") != std::string::npos) return 0;  // names that passes give to added code
  const auto module = lynxpp::ptx::parse_module(text, "fuzz.ptx");
  if (!module) return 0;
  int left = 4;  // kernels per input: more would only take time
  for (const lynxpp::ptx::Function& function : module->functions) {
    if (!function.is_entry || function.is_declaration() || left-- == 0) continue;
    lynxpp::engine::Request request;
    request.ptx = &text;
    request.kernel = function.name;
    request.specifications = {specification()};
    request.inspection.verify = true;
    const auto result = lynxpp::engine::instrument(request);
    if (result) continue;
    for (const lynxpp::Diagnostic& diagnostic : result.error().diagnostics) {
      if (diagnostic.message.find("not well-formed") == std::string::npos) continue;
      std::fprintf(stderr, "%s: %s\n", function.name.c_str(), diagnostic.message.c_str());
      std::abort();
    }
  }
  return 0;
}
