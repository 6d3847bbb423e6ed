#pragma once

#include "ptx/emitter/emitter.h"
#include "ptx/ir/module.h"
#include "ptx/passes/reached.h"
#include "ptx/passes/variant.h"

namespace lynxpp::ptx {

/// Replaces the names in `shared` by addresses from variable_table, so that the variant and the original
/// module use the same storage. Constant-space accesses become global ones, because the driver reports a
/// `.const` variable's address in the generic space.
///   ld.const.f32 %f1, [c+4];   ▶   ld.const.b64 %lynxpp_rd0, [__lynxpp_variables];
///                                  ld.global.nc.f32 %f1, [%lynxpp_rd0+4];
/// Runs after the planning passes and before all passes that insert code, so that an instruction's address is
/// in its register before any code inserted before the instruction.
void replace_shared_variables(const Module& module, const ReachedFunctions& reached,
                              const SharedVariables& shared, EditList& edits);

}  // namespace lynxpp::ptx
