// The lanes that execute what is being generated: all that functions about lanes mean. Under a condition,
// behind a `return` and in a loop they may be fewer than those that run the handler.
//
// A mask of lanes is used in the basic block in which it was found out, and within one operation behind
// branches that a vote has decided, which do not divide lanes of one mask; nowhere else. Where lanes of a
// warp run apart (behind a loop that waits for another lane, a GPU does not wait at the end of a branch),
// those of two groups may join at the end of any branch, and a GPU then takes the mask of one of them for
// that of all: lanes that are named in the other one wait for ever (docs/design/language.md).
#include <llvm/IR/InlineAsm.h>

#include "cod/codegen/device/generator.h"

namespace lynxpp::cod {

void DeviceGenerator::begin_part(bool for_all) { lanes_.push_back(for_all ? lanes_.back() : Lanes{}); }

void DeviceGenerator::end_part() { lanes_.pop_back(); }

void DeviceGenerator::lanes_have_left() { lanes_.back() = {}; }

llvm::Value* DeviceGenerator::join_lanes(llvm::Value* condition) {
  return !asks_about_lanes_ || llvm::isa<llvm::Constant>(condition) ? condition : opaque(condition);
}

/// No instruction: the condition as it is, of which LLVM knows nothing. So it leads no lane past it, makes no
/// second one, and cannot split the condition into several branches with paths of their own.
llvm::Value* DeviceGenerator::opaque(llvm::Value* condition) {
  auto* type = llvm::FunctionType::get(builder_.getInt1Ty(), {builder_.getInt1Ty()}, false);
  llvm::CallInst* call = builder_.CreateCall(type, llvm::InlineAsm::get(type, "", "=b,0", true), {condition});
  for (const llvm::Attribute::AttrKind each : {llvm::Attribute::NoUnwind, llvm::Attribute::WillReturn,
                                               llvm::Attribute::Convergent, llvm::Attribute::NoMerge})
    call->addFnAttr(each);
  call->setOnlyAccessesInaccessibleMemory();
  return call;
}

llvm::Value* DeviceGenerator::mask_of_lanes_here() {
  llvm::BasicBlock* const here = builder_.GetInsertBlock();
  if (mask_here_.block != here) mask_here_ = {here, active_mask_here()};
  return mask_here_.mask;
}

/// Found out once for all functions that ask about the banks in this part.
const DeviceGenerator::BankCounts& DeviceGenerator::banks_here() {
  if (!lanes_.back().banks) {
    const BankCounts counts = uses_lane_values_ ? take_banks() : measure_banks(nullptr);
    lanes_.back().banks = counts;
  }
  return *lanes_.back().banks;
}

}  // namespace lynxpp::cod
