// countWords(): adds one for each 4-byte word that an access touches, as the scheme specifies (WordScheme).
#include "cod/codegen/device/generator.h"
#include "cod/word_map.h"

namespace lynxpp::cod {
namespace {

constexpr std::uint64_t unmapped = ~std::uint64_t{0};

}  // namespace

/// Counts only accesses to the array's own kind of memory.
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
  if (scheme_.sample > 1) {
    llvm::BasicBlock* sampled = new_block("sampled");
    builder_.CreateCondBr(is_sampled(), sampled, end);
    builder_.SetInsertPoint(sampled);
  }
  llvm::Value* address = is_shared ? address_in_shared_window() : site_value(SiteValue::memory_address);
  builder_.CreateStore(builder_.CreateLShr(address, word_bytes_log2), slot);
  llvm::Value* last_byte = builder_.CreateAdd(address, builder_.CreateSub(size, builder_.getInt64(1)));
  llvm::Value* last = builder_.CreateLShr(last_byte, word_bytes_log2);
  builder_.CreateBr(loop);
  builder_.SetInsertPoint(loop);
  llvm::Value* word = builder_.CreateLoad(wide_type, slot);
  add_to_word(array, is_shared ? word : word_of_device(word));
  builder_.CreateStore(builder_.CreateAdd(word, builder_.getInt64(1)), slot);
  builder_.CreateCondBr(builder_.CreateICmpULT(word, last), loop, end);
  builder_.SetInsertPoint(end);
}

/// The offset of an access to shared memory, through a shared or a generic address, in the accessing block's
/// memory or in that of another block of the cluster, whose rank is in the upper 8 bits.
llvm::Value* DeviceGenerator::address_in_shared_window() {
  constexpr std::uint64_t offset_mask = (1u << 24) - 1;
  llvm::Value* address = site_value(SiteValue::memory_address);
  InstructionFilter generic;
  generic.spaces = space_generic;
  llvm::Value* own = assembly("cvta.to.shared.u64 $0, $1;", builder_.getInt64Ty(), {address}, Effect::none);
  llvm::Value* is_generic =
      builder_.CreateICmpNE(site_value(SiteValue::instruction_is, pack(generic)), builder_.getInt32(0));
  return builder_.CreateSelect(is_generic, own, builder_.CreateAnd(address, builder_.getInt64(offset_mask)));
}

/// addressInSpace()
llvm::Value* DeviceGenerator::address_in_space() {
  llvm::Value* is_shared =
      builder_.CreateICmpEQ(site_value(SiteValue::access_space), builder_.getInt32(space_shared));
  return builder_.CreateSelect(is_shared, address_in_shared_window(), site_value(SiteValue::memory_address));
}

/// True if this thread's random sequence selects the next access. The thread's position in it is the state of
/// a generator (Marsaglia, 2003, xorshift), seeded with the thread's index.
llvm::Value* DeviceGenerator::is_sampled() {
  const auto place = static_cast<std::uint32_t>(program_.state.size());
  llvm::Value* before = read_state(place, Type::u32);
  const auto special = [&](const char* name) {
    return assembly(std::string("mov.u32 $0, ") + name + ";", builder_.getInt32Ty(), {}, Effect::none);
  };
  llvm::Value* thread = builder_.CreateAdd(
      block_thread_id(), builder_.CreateMul(special("%ctaid.x"), builder_.getInt32(0x9e3779b9)));
  thread = builder_.CreateAdd(thread, builder_.CreateMul(special("%ctaid.y"), builder_.getInt32(0x85ebca6b)));
  thread = builder_.CreateAdd(thread, builder_.CreateMul(special("%ctaid.z"), builder_.getInt32(0xc2b2ae35)));
  llvm::Value* mixed =
      builder_.CreateMul(builder_.CreateXor(thread, builder_.getInt32(scheme_.seed * 0x27d4eb2du)),
                         builder_.getInt32(0x9e3779b1));
  mixed = builder_.CreateXor(mixed, builder_.CreateLShr(mixed, 15));
  mixed = builder_.CreateOr(builder_.CreateMul(mixed, builder_.getInt32(0x85ebca77)), builder_.getInt32(1));
  llvm::Value* is_new = builder_.CreateICmpEQ(before, builder_.getInt32(0));
  llvm::Value* state = builder_.CreateSelect(is_new, mixed, before);
  state = builder_.CreateXor(state, builder_.CreateShl(state, 13));
  state = builder_.CreateXor(state, builder_.CreateLShr(state, 17));
  state = builder_.CreateXor(state, builder_.CreateShl(state, 5));
  write_state(place, state, Type::u32);
  return builder_.CreateICmpULT(state, builder_.getInt32(0xffffffffu / scheme_.sample));
}

llvm::Value* DeviceGenerator::executions() {
  if (scheme_.analysis != WordScheme::Analysis::invariants) return builder_.getInt32(1);
  return site_value(SiteValue::executions);
}

DeviceGenerator::WordCounter DeviceGenerator::counter_of(const Symbol& array, llvm::Value* element) {
  const bool is_in_block = scheme_.shared_bits != 0 && array.dimensions[0].extent == Extent::shared_words;
  if (!is_in_block) return {element_address(array, element), 8 * bytes_of(array.type)};
  const std::string variable = std::string(memory_prefix) + std::to_string(program_.variables.size());
  llvm::Value* dynamic = assembly("mov.b64 $0, " + variable + ";", builder_.getInt64Ty(), {}, Effect::none);
  llvm::Value* first =
      builder_.CreateAdd(dynamic, word(Word::Kind::shared_counters, array.index, Extent::constant));
  llvm::Value* distance = builder_.CreateMul(element, builder_.getInt64(scheme_.shared_bits / 8));
  const bool carries = bytes_of(array.type) == sizeof(std::uint64_t);
  return {builder_.CreateAdd(first, distance), scheme_.shared_bits, "shared",
          carries ? element_address(array, element) : nullptr};
}

/// Counts in an element, or counts a dropped access.
void DeviceGenerator::add_to_word(const Symbol& array, llvm::Value* element) {
  llvm::BasicBlock* inside = new_block("inside");
  llvm::BasicBlock* outside = new_block("outside");
  llvm::BasicBlock* end = new_block("added");
  llvm::Value* extent = extent_value(array.dimensions[0].extent);
  builder_.CreateCondBr(builder_.CreateICmpULT(element, extent), inside, outside);
  builder_.SetInsertPoint(inside);
  const WordCounter counter = counter_of(array, element);
  if (scheme_.is_plain) {
    add_plainly(counter);
  } else if (counter.bits < 32) {
    add_in_word(counter);
  } else {
    const std::string type = counter.bits == 64 ? "u64" : "u32";
    llvm::Type* int_type = builder_.getIntNTy(counter.bits);
    llvm::BasicBlock* done = new_block("done");
    if (scheme_.threshold != 0) {
      llvm::Value* count = assembly("ld.volatile." + std::string(counter.space) + "." + type + " $0, [$1];",
                                    int_type, {counter.address}, Effect::memory);
      llvm::BasicBlock* below = new_block("below");
      builder_.CreateCondBr(
          builder_.CreateICmpULT(count, llvm::ConstantInt::get(int_type, scheme_.threshold)), below, done);
      builder_.SetInsertPoint(below);
    }
    if (counter.carry_address != nullptr) {
      add_with_carry(counter);
    } else if (wide_counters_ && counter.bits == 32) {
      add_saturating(counter);
    } else {
      assembly("red." + std::string(counter.space) + ".add." + type + " [$0], $1;", builder_.getVoidTy(),
               {counter.address, builder_.CreateZExtOrTrunc(executions(), int_type)}, Effect::memory);
    }
    builder_.CreateBr(done);
    builder_.SetInsertPoint(done);
  }
  builder_.CreateBr(end);
  builder_.SetInsertPoint(outside);
  count_dropped();
  builder_.CreateBr(end);
  builder_.SetInsertPoint(end);
}

/// The thread that wraps the 32-bit counter adds 2^32 in device memory, where the block adds the rest.
void DeviceGenerator::add_with_carry(const WordCounter& counter) {
  llvm::Value* added = executions();
  llvm::Value* before = assembly("atom.shared.add.u32 $0, [$1], $2;", builder_.getInt32Ty(),
                                 {counter.address, added}, Effect::memory);
  llvm::BasicBlock* wrapped = new_block("wrapped");
  llvm::BasicBlock* end = new_block("carried");
  builder_.CreateCondBr(builder_.CreateICmpULT(builder_.CreateAdd(before, added), before), wrapped, end);
  builder_.SetInsertPoint(wrapped);
  assembly("red.global.add.u64 [$0], $1;", builder_.getVoidTy(),
           {counter.carry_address, builder_.getInt64(std::uint64_t{1} << 32)}, Effect::memory);
  builder_.CreateBr(end);
  builder_.SetInsertPoint(end);
}

/// Each thread that wraps the counter sets it to its maximum. It stays there, because later additions wrap as
/// well.
void DeviceGenerator::add_saturating(const WordCounter& counter) {
  const std::string space = counter.space;
  llvm::Value* added = executions();
  llvm::Value* before = assembly("atom." + space + ".add.u32 $0, [$1], $2;", builder_.getInt32Ty(),
                                 {counter.address, added}, Effect::memory);
  llvm::BasicBlock* wrapped = new_block("wrapped");
  llvm::BasicBlock* end = new_block("saturated");
  builder_.CreateCondBr(builder_.CreateICmpULT(builder_.CreateAdd(before, added), before), wrapped, end);
  builder_.SetInsertPoint(wrapped);
  assembly("red." + space + ".max.u32 [$0], $1;", builder_.getVoidTy(),
           {counter.address, builder_.getInt32(~std::uint32_t{0})}, Effect::memory);
  builder_.CreateBr(end);
  builder_.SetInsertPoint(end);
}

/// Reads, adds and writes: concurrent additions are lost.
void DeviceGenerator::add_plainly(const WordCounter& counter) {
  const std::string place = std::string(counter.space) + ".u" + std::to_string(counter.bits);
  llvm::Type* type = counter.bits == 64 ? builder_.getInt64Ty() : builder_.getInt32Ty();
  llvm::Value* count =
      assembly("ld.volatile." + place + " $0, [$1];", type, {counter.address}, Effect::memory);
  llvm::Value* added = builder_.CreateZExtOrTrunc(executions(), type);
  llvm::BasicBlock* end = new_block("stored");
  if (scheme_.threshold != 0) {
    llvm::Value* threshold = llvm::ConstantInt::get(type, scheme_.threshold);
    llvm::BasicBlock* below = new_block("below");
    builder_.CreateCondBr(builder_.CreateICmpULT(count, threshold), below, end);
    builder_.SetInsertPoint(below);
    llvm::Value* room = builder_.CreateSub(threshold, count);
    added = builder_.CreateSelect(builder_.CreateICmpULT(added, room), added, room);
  }
  assembly("st.volatile." + place + " [$0], $1;", builder_.getVoidTy(),
           {counter.address, builder_.CreateAdd(count, added)}, Effect::memory);
  builder_.CreateBr(end);
  builder_.SetInsertPoint(end);
}

/// Atomic additions to less than a word do not exist, and one to the word would carry into the next counter.
/// Therefore a compare-and-swap of the word is repeated until no other thread has interfered.
void DeviceGenerator::add_in_word(const WordCounter& counter) {
  llvm::Type* type = builder_.getInt32Ty();
  llvm::Value* word_address =
      builder_.CreateAnd(counter.address, builder_.getInt64(~std::uint64_t{sizeof(std::uint32_t) - 1}));
  llvm::Value* byte = builder_.CreateAnd(builder_.CreateTrunc(counter.address, type), builder_.getInt32(3));
  llvm::Value* shift = builder_.CreateShl(byte, 3);
  llvm::Value* field = builder_.getInt32((1u << counter.bits) - 1);
  llvm::Value* threshold = builder_.getInt32(scheme_.threshold);
  llvm::AllocaInst* slot = new_slot(type, "seen");
  builder_.CreateStore(assembly("ld.volatile.shared.u32 $0, [$1];", type, {word_address}, Effect::memory),
                       slot);
  llvm::BasicBlock* attempt = new_block("attempt");
  llvm::BasicBlock* below = new_block("below");
  llvm::BasicBlock* end = new_block("swapped");
  builder_.CreateBr(attempt);
  builder_.SetInsertPoint(attempt);
  llvm::Value* seen = builder_.CreateLoad(type, slot);
  llvm::Value* count = builder_.CreateAnd(builder_.CreateLShr(seen, shift), field);
  builder_.CreateCondBr(builder_.CreateICmpULT(count, threshold), below, end);
  builder_.SetInsertPoint(below);
  llvm::Value* room = builder_.CreateSub(threshold, count);
  llvm::Value* added = executions();
  added = builder_.CreateSelect(builder_.CreateICmpULT(added, room), added, room);
  // No carry: the sum stays below the threshold, which fits in the field.
  llvm::Value* swapped = builder_.CreateAdd(seen, builder_.CreateShl(added, shift));
  llvm::Value* found =
      assembly("atom.shared.cas.b32 $0, [$1], $2, $3;", type, {word_address, seen, swapped}, Effect::memory);
  builder_.CreateStore(found, slot);
  builder_.CreateCondBr(builder_.CreateICmpEQ(found, seen), end, attempt);
  builder_.SetInsertPoint(end);
}

/// Maps a word of an address to its element by two table look-ups (WordMap), without a search.
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
