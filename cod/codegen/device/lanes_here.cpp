// The lanes that execute what is being generated: all that functions about lanes mean. Under a condition,
// behind a `return` and in a loop they may be fewer than those that run the handler.
#include <llvm/IR/InlineAsm.h>

#include "cod/codegen/device/generator.h"

namespace lynxpp::cod {

void DeviceGenerator::begin_part(bool for_all) { lanes_.push_back(for_all ? lanes_.back() : Lanes{}); }

void DeviceGenerator::end_part() { lanes_.pop_back(); }

void DeviceGenerator::lanes_have_left() { lanes_.back() = {}; }

/// No instruction: the condition as it is, of which LLVM knows nothing. So it leads no lane past it, makes no
/// second one, and cannot cut the condition into several branches with ways of their own.
llvm::Value* DeviceGenerator::join_lanes(llvm::Value* condition) {
  if (!asks_about_lanes_ || llvm::isa<llvm::Constant>(condition)) return condition;
  auto* type = llvm::FunctionType::get(builder_.getInt1Ty(), {builder_.getInt1Ty()}, false);
  llvm::CallInst* call = builder_.CreateCall(type, llvm::InlineAsm::get(type, "", "=b,0", true), {condition});
  for (const llvm::Attribute::AttrKind each : {llvm::Attribute::NoUnwind, llvm::Attribute::WillReturn,
                                               llvm::Attribute::Convergent, llvm::Attribute::NoMerge})
    call->addFnAttr(each);
  call->setOnlyAccessesInaccessibleMemory();
  return call;
}

llvm::Value* DeviceGenerator::lanes_to_wait_for() { return may_wait_ ? mask_of_lanes_here() : nullptr; }

/// Without it a GPU may let the others go on while one waits for the host. What they take for all lanes from
/// then on need not be what it takes, and operations on a warp whose lanes name different members never end.
void DeviceGenerator::meet(llvm::Value* lanes) {
  assembly("bar.warp.sync $0;", builder_.getVoidTy(), {lanes}, Effect::convergent);
}

llvm::Value* DeviceGenerator::mask_of_lanes_here() {
  if (lanes_.back().are_all) return active_mask_at_entry();
  llvm::Value*& mask = lanes_.back().mask;
  if (mask == nullptr) mask = active_mask_here();
  return mask;
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
