// LLVM's NVPTX back end for modules with one handler. Exposes LLVM types: included by the device code
// generator only.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "support/result.h"

namespace lynxpp::cod {

/// Inline PTX that yields the mask of the active lanes.
inline constexpr const char* active_mask_text = "activemask.b32 $0;";

/// Sets the module's triple and data layout. Must be called before code is generated into it.
void prepare_nvptx_module(llvm::Module& module);

/// Optimizes at O2, reduces mask queries to one per basic block, and emits PTX for compute capability `sm`.
/// The handler and the functions that it calls are copied later, so the text must neither name module-scope
/// variables nor call functions outside the module. Fails if it does.
Result<std::string> emit_ptx(llvm::Module& module, int sm);

}  // namespace lynxpp::cod
