// LLVM's NVPTX back end for modules of one routine. Shows LLVM types: included by the device code generator
// only.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "support/result.h"

namespace lynxpp::cod {

/// Sets the module's triple and data layout. To be called before code is generated into it.
void prepare_nvptx_module(llvm::Module& module);

/// Optimizes at O2 and emits PTX for compute capability `sm`. The module's one function is inlined at each
/// site later, so the text must hold neither stack, calls nor module-scope variables; anything of that kind
/// is a failure.
Result<std::string> emit_ptx(llvm::Module& module, int sm);

}  // namespace lynxpp::cod
