// LLVM's NVPTX back end for modules of one handler. Shows LLVM types: included by the device code generator
// only.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "support/result.h"

namespace lynxpp::cod {

/// Inline PTX that yields the mask of the lanes that are there.
inline constexpr const char* active_mask_text = "activemask.b32 $0;";

/// Sets the module's triple and data layout. To be called before code is generated into it.
void prepare_nvptx_module(llvm::Module& module);

/// Optimizes at O2, has each basic block ask for the mask of its lanes once, and emits PTX for compute
/// capability `sm`. The handler is copied to each site later and the functions it calls go along, so the text
/// must neither name module-scope variables nor call what is not in the module; anything of that kind is a
/// failure.
Result<std::string> emit_ptx(llvm::Module& module, int sm);

}  // namespace lynxpp::cod
