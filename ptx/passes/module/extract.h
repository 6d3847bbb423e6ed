#pragma once

#include "ptx/emitter/emitter.h"
#include "ptx/ir/module.h"
#include "ptx/passes/reached.h"
#include "ptx/passes/variant.h"
#include "support/result.h"

namespace lynxpp::ptx {

/// Reduces the module to what the kernel and its callees need: their definitions and declarations, the
/// variables that they name and that are not shared with the original, the symbols in those variables'
/// initializers, aliases in use, `.file` directives and the strings that `.loc` references. Declares the
/// probes' own variables (SplicedCode::variables). Sets version and target. Runs last, because it erases
/// complete items.
Status extract_kernel(const Module& module, const ReachedFunctions& reached, const SplicedCode& spliced,
                      const VariantModule& variant, EditList& edits);

}  // namespace lynxpp::ptx
