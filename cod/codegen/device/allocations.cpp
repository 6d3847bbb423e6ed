// deviceWord(address) and allocationId(address).
#include "cod/allocation_table.h"
#include "cod/codegen/device/generator.h"

namespace lynxpp::cod {

llvm::Value* DeviceGenerator::address_call(const Expression& call) {
  llvm::Value* address = expression_as(*call.operands[0], Type::u64);
  if (call.api->api == Api::device_word) return word_of_device(builder_.CreateLShr(address, word_bytes_log2));
  llvm::Value* table = word(Word::Kind::allocations, 0, Extent::constant);
  return out_of_line("allocation_id", builder_.getInt64Ty(), {table, address},
                     [this](const std::vector<llvm::Value*>& parameters) {
                       return search_allocation(parameters[0], parameters[1]);
                     });
}

/// Bisection counts the allocations that begin at or below the address; only the last of them can contain it.
llvm::Value* DeviceGenerator::search_allocation(llvm::Value* table, llvm::Value* address) {
  llvm::Type* type = builder_.getInt64Ty();
  llvm::Value* numbers = builder_.CreateIntToPtr(table, llvm::PointerType::get(context_, global_space));
  const auto number = [&](llvm::Value* index, std::uint64_t part) {
    llvm::Value* place =
        builder_.CreateAdd(builder_.CreateMul(index, builder_.getInt64(3)), builder_.getInt64(1 + part));
    return builder_.CreateLoad(type, builder_.CreateGEP(type, numbers, place));
  };
  llvm::AllocaInst* low = new_slot(type, "low");
  llvm::AllocaInst* high = new_slot(type, "high");
  llvm::AllocaInst* id = new_slot(type, "id");
  builder_.CreateStore(builder_.getInt64(0), low);
  builder_.CreateStore(builder_.CreateLoad(type, numbers), high);
  builder_.CreateStore(builder_.getInt64(no_allocation), id);
  llvm::BasicBlock* search = new_block("search");
  llvm::BasicBlock* halve = new_block("halve");
  llvm::BasicBlock* found = new_block("found");
  llvm::BasicBlock* check = new_block("check");
  llvm::BasicBlock* inside = new_block("inside");
  llvm::BasicBlock* end = new_block("known");
  builder_.CreateBr(search);
  builder_.SetInsertPoint(search);
  llvm::Value* first = builder_.CreateLoad(type, low);
  llvm::Value* last = builder_.CreateLoad(type, high);
  builder_.CreateCondBr(builder_.CreateICmpULT(first, last), halve, found);
  builder_.SetInsertPoint(halve);
  llvm::Value* middle = builder_.CreateLShr(builder_.CreateAdd(first, last), 1);
  llvm::Value* is_below = builder_.CreateICmpULE(number(middle, 0), address);
  builder_.CreateStore(
      builder_.CreateSelect(is_below, builder_.CreateAdd(middle, builder_.getInt64(1)), first), low);
  builder_.CreateStore(builder_.CreateSelect(is_below, last, middle), high);
  builder_.CreateBr(search);
  builder_.SetInsertPoint(found);
  builder_.CreateCondBr(builder_.CreateICmpNE(first, builder_.getInt64(0)), check, end);
  builder_.SetInsertPoint(check);
  llvm::Value* holder = builder_.CreateSub(first, builder_.getInt64(1));
  builder_.CreateCondBr(builder_.CreateICmpULT(address, number(holder, 1)), inside, end);
  builder_.SetInsertPoint(inside);
  builder_.CreateStore(number(holder, 2), id);
  builder_.CreateBr(end);
  builder_.SetInsertPoint(end);
  return builder_.CreateLoad(type, id);
}

}  // namespace lynxpp::cod
