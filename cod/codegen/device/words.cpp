// countWords(): one is added for each 4-byte word that an access touches.
#include "cod/codegen/device/generator.h"
#include "cod/word_map.h"

namespace lynxpp::cod {
namespace {

constexpr std::uint64_t word_bytes_log2 = 2;
constexpr std::uint64_t unmapped = ~std::uint64_t{0};

}  // namespace

/// Only accesses of the array's own memory count.
void DeviceGenerator::count_words(const Expression& call) {
  const Symbol& array = *call.operands[0]->symbol;
  const bool is_shared = array.dimensions[0].extent == Extent::shared_words;
  llvm::Type* wide_type = builder_.getInt64Ty();
  llvm::Value* size = wide(site_value(SiteValue::access_size));
  size = builder_.CreateSelect(builder_.CreateICmpEQ(size, builder_.getInt64(0)),
                               site_value(SiteValue::bulk_size), size);
  llvm::Value* counts =
      builder_.CreateAnd(builder_.CreateICmpEQ(site_value(SiteValue::access_space),
                                               builder_.getInt32(is_shared ? space_shared : space_global)),
                         builder_.CreateICmpNE(size, builder_.getInt64(0)));
  llvm::BasicBlock* begin = new_block("words");
  llvm::BasicBlock* loop = new_block("word");
  llvm::BasicBlock* end = new_block("counted");
  llvm::AllocaInst* slot = new_slot(wide_type, "word");
  builder_.CreateCondBr(counts, begin, end);
  builder_.SetInsertPoint(begin);
  llvm::Value* address = is_shared ? address_in_shared_window() : site_value(SiteValue::memory_address);
  builder_.CreateStore(builder_.CreateLShr(address, word_bytes_log2), slot);
  llvm::Value* last_byte = builder_.CreateAdd(address, builder_.CreateSub(size, builder_.getInt64(1)));
  llvm::Value* last = builder_.CreateLShr(last_byte, word_bytes_log2);
  builder_.CreateBr(loop);
  builder_.SetInsertPoint(loop);
  llvm::Value* word = builder_.CreateLoad(wide_type, slot);
  add_one(array, is_shared ? word : word_of_device(word));
  builder_.CreateStore(builder_.CreateAdd(word, builder_.getInt64(1)), slot);
  builder_.CreateCondBr(builder_.CreateICmpULT(word, last), loop, end);
  builder_.SetInsertPoint(end);
}

/// Of an access that leads to shared memory, by whichever kind of address.
llvm::Value* DeviceGenerator::address_in_shared_window() {
  llvm::Value* address = site_value(SiteValue::memory_address);
  InstructionFilter generic;
  generic.spaces = space_generic;
  llvm::Value* own = assembly("cvta.to.shared.u64 $0, $1;", builder_.getInt64Ty(), {address}, Effect::none);
  llvm::Value* is_generic =
      builder_.CreateICmpNE(site_value(SiteValue::instruction_is, pack(generic)), builder_.getInt32(0));
  return builder_.CreateSelect(is_generic, own, address);
}

/// addressInSpace()
llvm::Value* DeviceGenerator::address_in_space() {
  llvm::Value* is_shared =
      builder_.CreateICmpEQ(site_value(SiteValue::access_space), builder_.getInt32(space_shared));
  return builder_.CreateSelect(is_shared, address_in_shared_window(), site_value(SiteValue::memory_address));
}

/// Counts in an element, or that there is none.
void DeviceGenerator::add_one(const Symbol& array, llvm::Value* element) {
  llvm::BasicBlock* inside = new_block("inside");
  llvm::BasicBlock* outside = new_block("outside");
  llvm::BasicBlock* end = new_block("added");
  llvm::Value* extent = extent_value(array.dimensions[0].extent);
  builder_.CreateCondBr(builder_.CreateICmpULT(element, extent), inside, outside);
  builder_.SetInsertPoint(inside);
  const bool is_wide = bytes_of(array.type) == 8;
  llvm::Value* one = is_wide ? static_cast<llvm::Value*>(builder_.getInt64(1)) : builder_.getInt32(1);
  assembly(is_wide ? "red.global.add.u64 [$0], $1;" : "red.global.add.u32 [$0], $1;", builder_.getVoidTy(),
           {element_address(array, element), one}, Effect::memory);
  builder_.CreateBr(end);
  builder_.SetInsertPoint(outside);
  count_dropped();
  builder_.CreateBr(end);
  builder_.SetInsertPoint(end);
}

/// Two tables lead from a word of an address to its element (WordMap): no search, whatever was allocated.
llvm::Value* DeviceGenerator::word_of_device(llvm::Value* word) {
  llvm::Type* wide_type = builder_.getInt64Ty();
  llvm::Type* entry_type = builder_.getInt32Ty();
  llvm::PointerType* pointer = llvm::PointerType::get(context_, global_space);
  llvm::Value* map = builder_.CreateIntToPtr(this->word(Word::Kind::word_map, 0, Extent::constant), pointer);
  llvm::AllocaInst* slot = new_slot(wide_type, "element");
  builder_.CreateStore(builder_.getInt64(unmapped), slot);
  llvm::BasicBlock* region_known = new_block("region");
  llvm::BasicBlock* page_known = new_block("page");
  llvm::BasicBlock* mapped = new_block("mapped");
  llvm::BasicBlock* end = new_block("found");
  llvm::Value* first_region = builder_.CreateLoad(wide_type, map);
  llvm::Value* regions =
      builder_.CreateLoad(wide_type, builder_.CreateGEP(wide_type, map, builder_.getInt64(1)));
  llvm::Value* region =
      builder_.CreateSub(builder_.CreateLShr(word, WordMap::region_bits - word_bytes_log2), first_region);
  builder_.CreateCondBr(builder_.CreateICmpULT(region, regions), region_known, end);
  builder_.SetInsertPoint(region_known);
  const auto entry = [&](llvm::Value* index) {
    llvm::Value* place = builder_.CreateAdd(index, builder_.getInt64(WordMap::header_entries));
    return wide(builder_.CreateLoad(entry_type, builder_.CreateGEP(entry_type, map, place)));
  };
  llvm::Value* none = builder_.getInt64(WordMap::none);
  llvm::Value* table = entry(region);
  builder_.CreateCondBr(builder_.CreateICmpNE(table, none), page_known, end);
  builder_.SetInsertPoint(page_known);
  constexpr std::uint64_t page_words_log2 = WordMap::page_bits - word_bytes_log2;
  constexpr std::uint64_t pages = std::uint64_t{1} << (WordMap::region_bits - WordMap::page_bits);
  llvm::Value* page =
      builder_.CreateAnd(builder_.CreateLShr(word, page_words_log2), builder_.getInt64(pages - 1));
  llvm::Value* shadow = entry(builder_.CreateAdd(table, page));
  builder_.CreateCondBr(builder_.CreateICmpNE(shadow, none), mapped, end);
  builder_.SetInsertPoint(mapped);
  llvm::Value* in_page =
      builder_.CreateAnd(word, builder_.getInt64((std::uint64_t{1} << page_words_log2) - 1));
  builder_.CreateStore(builder_.CreateOr(builder_.CreateShl(shadow, page_words_log2), in_page), slot);
  builder_.CreateBr(end);
  builder_.SetInsertPoint(end);
  return builder_.CreateLoad(wide_type, slot);
}

}  // namespace lynxpp::cod
