// deviceWord(address) and allocationId(address).
#include "cod/allocation_table.h"
#include "cod/codegen/device/generator.h"

namespace lynxpp::cod {

llvm::Value* DeviceGenerator::address_call(const Expression& call) {
  llvm::Value* address = expression_as(*call.operands[0], Type::u64);
  if (call.api->api == Api::device_word) return word_of_device(ir_.CreateLShr(address, word_bytes_log2));
  llvm::Value* table = word(Word::Kind::allocations, 0, Extent::constant);
  return out_of_line("allocation_id", ir_.getInt64Ty(), {table, address},
                     [this](const std::vector<llvm::Value*>& parameters) {
                       return search_allocation(parameters[0], parameters[1]);
                     });
}

/// Bisection counts the allocations that begin at or below the address; only the last of them can contain it.
llvm::Value* DeviceGenerator::search_allocation(llvm::Value* table, llvm::Value* address) {
  llvm::Type* type = ir_.getInt64Ty();
  llvm::Value* numbers = ir_.CreateIntToPtr(table, llvm::PointerType::get(context_, global_space));
  const auto number = [&](llvm::Value* index, std::uint64_t part) {
    llvm::Value* place = ir_.CreateAdd(ir_.CreateMul(index, i64(3)), i64(1 + part));
    return ir_.CreateLoad(type, ir_.CreateGEP(type, numbers, place));
  };
  llvm::AllocaInst* low = new_slot(type, "low");
  llvm::AllocaInst* high = new_slot(type, "high");
  llvm::AllocaInst* id = new_slot(type, "id");
  ir_.CreateStore(i64(0), low);
  ir_.CreateStore(ir_.CreateLoad(type, numbers), high);
  ir_.CreateStore(i64(no_allocation), id);
  llvm::BasicBlock* search = new_block("search");
  llvm::BasicBlock* halve = new_block("halve");
  llvm::BasicBlock* found = new_block("found");
  llvm::BasicBlock* check = new_block("check");
  llvm::BasicBlock* inside = new_block("inside");
  llvm::BasicBlock* end = new_block("known");
  go_to(search);
  llvm::Value* first = ir_.CreateLoad(type, low);
  llvm::Value* last = ir_.CreateLoad(type, high);
  branch(ir_.CreateICmpULT(first, last), halve, found);
  llvm::Value* middle = ir_.CreateLShr(ir_.CreateAdd(first, last), 1);
  llvm::Value* is_below = ir_.CreateICmpULE(number(middle, 0), address);
  ir_.CreateStore(ir_.CreateSelect(is_below, ir_.CreateAdd(middle, i64(1)), first), low);
  ir_.CreateStore(ir_.CreateSelect(is_below, last, middle), high);
  ir_.CreateBr(search);
  ir_.SetInsertPoint(found);
  branch(ir_.CreateIsNotNull(first), check, end);
  llvm::Value* holder = ir_.CreateSub(first, i64(1));
  branch(ir_.CreateICmpULT(address, number(holder, 1)), inside, end);
  ir_.CreateStore(number(holder, 2), id);
  go_to(end);
  return ir_.CreateLoad(type, id);
}

}  // namespace lynxpp::cod
