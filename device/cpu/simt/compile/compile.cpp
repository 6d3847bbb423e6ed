// A planned program ▶ machine code.
#include <llvm/IR/LLVMContext.h>

#include <chrono>

#include "device/cpu/simt/compile/codegen.h"
#include "device/cpu/simt/compile/jit.h"
#include "support/log.h"

namespace lynxpp::device::cpu {

Result<std::shared_ptr<const Program>> compile_program(ptx::Module& module, const ModuleSymbols& symbols,
                                                       std::uint32_t kernel, CodeKind kind,
                                                       const std::string& name) {
  const auto begin = std::chrono::steady_clock::now();
  Result<Program> planned = plan_program(module, kernel, name, kind);
  if (!planned) return planned.error();
  auto program = std::make_shared<Program>(std::move(*planned));
  program->counting = kind.counts;
  program->timed = kind.timed;
  program->checked = kind.checked;
  program->constants = symbols.constants;
  Result<std::shared_ptr<Jit>> jit = Jit::create();
  if (!jit) return jit.error();
  program->code = *jit;
  std::size_t segments = 0;
  for (CompiledFunction& function : program->functions) {
    if (function.failure) continue;
    // A module of its own: a function that cannot be compiled leaves nothing behind.
    auto context = std::make_unique<llvm::LLVMContext>();
    auto code = std::make_unique<llvm::Module>(function.name, *context);
    program->code->prepare(*code);
    FunctionCodegen codegen(*code, module, symbols, *program, function, name);
    if (Status emitted = codegen.emit(); !emitted) {
      if (function.direct) return emitted.error();
      function.failure = emitted.error().diagnostics;
      continue;
    }
    if (Status added = program->code->add(std::move(code), std::move(context)); !added) return added.error();
    for (std::size_t i = 0; i < function.segments.size(); ++i) {
      const Result<void*> address = program->code->lookup(FunctionCodegen::segment_name(function, i));
      if (!address) return address.error();
      function.segments[i].run = reinterpret_cast<SegmentFunction>(*address);
    }
    segments += function.segments.size();
  }
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
  log().debug("cpu device: compiled kernel {} ({} functions, {} segments) in {:.1f} ms",
              program->functions[0].name, program->functions.size(), segments, spent.count());
  return std::shared_ptr<const Program>(std::move(program));
}

}  // namespace lynxpp::device::cpu
