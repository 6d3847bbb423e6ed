// Compiles a planned program to machine code.
#include <chrono>

#include "device/cpu/simt/compile/form_library.h"
#include "device/cpu/simt/compile/segment_compiler.h"
#include "support/log.h"

namespace lynxpp::device::cpu {

Result<std::shared_ptr<const Program>> compile_program(Program planned, const ptx::Module& module,
                                                       const ModuleSymbols& symbols, CodeKind kind,
                                                       const std::string& name) {
  const auto begin = std::chrono::steady_clock::now();
  auto program = std::make_shared<Program>(std::move(planned));
  program->counting = kind.counts;
  program->timed = kind.timed;
  program->checked = kind.checked;
  program->module = &module;
  program->constants = symbols.constants;
  program->compiler = std::make_shared<SegmentCompiler>(*program, module, symbols, name);
  std::size_t segments = 0;
  for (std::uint32_t i = 0; i < program->functions.size(); ++i) {
    CompiledFunction& function = program->functions[i];
    if (function.failure) continue;
    if (Status compiled = program->compiler->compile(i); !compiled) {
      if (function.direct) return compiled.error();
      function.failure = compiled.error().diagnostics;
    }
    segments += function.segments.size();
  }
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
  log().debug(
      "cpu device: compiled kernel {} ({} functions, {} segments) in {:.1f} ms; {} forms are known, {} of "
      "them cached by earlier processes",
      program->functions[0].name, program->functions.size(), segments, spent.count(),
      FormLibrary::shared().size(), FormLibrary::shared().size_from_cache());
  return std::shared_ptr<const Program>(std::move(program));
}

}  // namespace lynxpp::device::cpu
