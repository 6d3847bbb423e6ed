// The active lanes of the code being generated, which all functions about lanes refer to. Under a condition,
// after a `return` and in a loop, they may be fewer than the lanes that run the handler.
//
// A lane mask is used only in the basic block that computes it and, within one operation, after branches on a
// vote, which do not diverge lanes of one mask. When lanes of a warp run separately (after a loop that waits
// for another lane, a GPU does not reconverge at the end of a branch), lanes of two groups may join at the
// end of any branch. A GPU then uses the mask of one group for all lanes, and lanes named in the other mask
// wait forever (docs/design/language.md).
#include <llvm/IR/InlineAsm.h>

#include "cod/codegen/device/generator.h"

namespace lynxpp::cod {

llvm::Value* DeviceGenerator::join_lanes(llvm::Value* condition) {
  return !asks_about_lanes_ || llvm::isa<llvm::Constant>(condition) ? condition : opaque(condition);
}

/// Emits no instruction: returns the condition as a value that LLVM cannot analyse. LLVM then cannot hoist
/// code past it, duplicate it, or split the condition into several branches with separate paths.
llvm::Value* DeviceGenerator::opaque(llvm::Value* condition) {
  auto* type = llvm::FunctionType::get(ir_.getInt1Ty(), {ir_.getInt1Ty()}, false);
  llvm::CallInst* call = ir_.CreateCall(type, llvm::InlineAsm::get(type, "", "=b,0", true), {condition});
  for (const llvm::Attribute::AttrKind each : {llvm::Attribute::NoUnwind, llvm::Attribute::WillReturn,
                                               llvm::Attribute::Convergent, llvm::Attribute::NoMerge})
    call->addFnAttr(each);
  call->setOnlyAccessesInaccessibleMemory();
  return call;
}

llvm::Value* DeviceGenerator::active_mask() {
  llvm::BasicBlock* const here = ir_.GetInsertBlock();
  if (mask_here_.block != here) mask_here_ = {here, active_mask_here()};
  return mask_here_.mask;
}

/// Computed once for all functions about banks in a basic block.
const DeviceGenerator::BankCounts& DeviceGenerator::bank_counts() {
  if (!measures_banks_ && banks_here_.block != ir_.GetInsertBlock()) {
    const BankCounts counts = target_.lane_values ? hoisted_bank_counts() : measure_banks(nullptr);
    banks_here_ = {ir_.GetInsertBlock(), counts};
  }
  return banks_here_.counts;
}

}  // namespace lynxpp::cod
