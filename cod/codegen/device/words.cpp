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
  llvm::Type* wide_type = ir_.getInt64Ty();
  llvm::Value* size = wide(site_value(SiteValue::access_size));
  size = ir_.CreateSelect(ir_.CreateIsNull(size), site_value(SiteValue::bulk_size), size);
  llvm::Value* counts = ir_.CreateAnd(
      ir_.CreateICmpEQ(site_value(SiteValue::access_space), i32(is_shared ? space_shared : space_global)),
      ir_.CreateIsNotNull(size));
  llvm::BasicBlock* begin = new_block("words");
  llvm::BasicBlock* loop = new_block("word");
  llvm::BasicBlock* end = new_block("counted");
  llvm::AllocaInst* slot = new_slot(wide_type, "word");
  branch(counts, begin, end);
  if (target_.words.sample > 1) continue_if(is_sampled(), end);
  llvm::Value* address = is_shared ? address_in_shared_window() : site_value(SiteValue::memory_address);
  ir_.CreateStore(ir_.CreateLShr(address, word_bytes_log2), slot);
  llvm::Value* last_byte = ir_.CreateAdd(address, ir_.CreateSub(size, i64(1)));
  llvm::Value* last = ir_.CreateLShr(last_byte, word_bytes_log2);
  go_to(loop);
  llvm::Value* word = ir_.CreateLoad(wide_type, slot);
  add_to_word(array, is_shared ? word : word_of_device(word));
  ir_.CreateStore(ir_.CreateAdd(word, i64(1)), slot);
  leave_if(ir_.CreateICmpULT(word, last), loop, end);
}

/// The offset of an access to shared memory, through a shared or a generic address, in the accessing block's
/// memory or in that of another block of the cluster, whose rank is in the upper 8 bits.
llvm::Value* DeviceGenerator::address_in_shared_window() {
  constexpr std::uint64_t offset_mask = (1u << 24) - 1;
  llvm::Value* address = site_value(SiteValue::memory_address);
  InstructionFilter generic;
  generic.spaces = space_generic;
  llvm::Value* own = assembly("cvta.to.shared.u64 $0, $1;", ir_.getInt64Ty(), {address}, Effect::none);
  llvm::Value* is_generic = ir_.CreateIsNotNull(site_value(SiteValue::instruction_is, pack(generic)));
  return ir_.CreateSelect(is_generic, own, ir_.CreateAnd(address, i64(offset_mask)));
}

/// addressInSpace()
llvm::Value* DeviceGenerator::address_in_space() {
  llvm::Value* is_shared = ir_.CreateICmpEQ(site_value(SiteValue::access_space), i32(space_shared));
  return ir_.CreateSelect(is_shared, address_in_shared_window(), site_value(SiteValue::memory_address));
}

/// True if this thread's random sequence selects the next access. The thread's position in it is the state of
/// a generator (Marsaglia, 2003, xorshift), seeded with the thread's index.
llvm::Value* DeviceGenerator::is_sampled() {
  const auto place = static_cast<std::uint32_t>(program_.state.size());
  llvm::Value* before = read_state(place, Type::u32);
  llvm::Value* thread =
      ir_.CreateAdd(block_thread_id(), ir_.CreateMul(thread_call(Api::block_index_x), i32(0x9e3779b9)));
  thread = ir_.CreateAdd(thread, ir_.CreateMul(thread_call(Api::block_index_y), i32(0x85ebca6b)));
  thread = ir_.CreateAdd(thread, ir_.CreateMul(thread_call(Api::block_index_z), i32(0xc2b2ae35)));
  llvm::Value* mixed =
      ir_.CreateMul(ir_.CreateXor(thread, i32(target_.words.seed * 0x27d4eb2du)), i32(0x9e3779b1));
  mixed = ir_.CreateXor(mixed, ir_.CreateLShr(mixed, 15));
  mixed = ir_.CreateOr(ir_.CreateMul(mixed, i32(0x85ebca77)), i32(1));
  llvm::Value* is_new = ir_.CreateIsNull(before);
  llvm::Value* state = ir_.CreateSelect(is_new, mixed, before);
  state = ir_.CreateXor(state, ir_.CreateShl(state, 13));
  state = ir_.CreateXor(state, ir_.CreateLShr(state, 17));
  state = ir_.CreateXor(state, ir_.CreateShl(state, 5));
  write_state(place, state, Type::u32);
  return ir_.CreateICmpULT(state, i32(0xffffffffu / target_.words.sample));
}

llvm::Value* DeviceGenerator::executions() {
  if (target_.words.analysis != WordScheme::Analysis::invariants) return i32(1);
  return site_value(SiteValue::executions);
}

DeviceGenerator::WordCounter DeviceGenerator::counter_of(const Symbol& array, llvm::Value* element) {
  const bool is_in_block =
      target_.words.shared_bits != 0 && array.dimensions[0].extent == Extent::shared_words;
  if (!is_in_block) return {element_address(array, element), 8 * bytes_of(array.type)};
  const std::string variable = std::string(memory_prefix) + std::to_string(program_.variables.size());
  llvm::Value* first = ir_.CreateAdd(placeholder(variable, true),
                                     word(Word::Kind::shared_counters, array.index, Extent::constant));
  llvm::Value* distance = ir_.CreateMul(element, i64(target_.words.shared_bits / 8));
  const bool carries = bytes_of(array.type) == sizeof(std::uint64_t);
  return {ir_.CreateAdd(first, distance), target_.words.shared_bits, "shared",
          carries ? element_address(array, element) : nullptr};
}

/// Counts in an element, or counts a dropped access.
void DeviceGenerator::add_to_word(const Symbol& array, llvm::Value* element) {
  llvm::BasicBlock* inside = new_block("inside");
  llvm::BasicBlock* outside = new_block("outside");
  llvm::BasicBlock* end = new_block("added");
  llvm::Value* extent = extent_value(array.dimensions[0].extent);
  branch(ir_.CreateICmpULT(element, extent), inside, outside);
  const WordCounter counter = counter_of(array, element);
  if (target_.words.is_plain) {
    add_plainly(counter);
  } else if (counter.bits < 32) {
    add_in_word(counter);
  } else {
    const std::string type = counter.bits == 64 ? "u64" : "u32";
    llvm::Type* int_type = ir_.getIntNTy(counter.bits);
    llvm::BasicBlock* done = new_block("done");
    if (target_.words.threshold != 0) {
      llvm::Value* count = assembly("ld.volatile." + std::string(counter.space) + "." + type + " $0, [$1];",
                                    int_type, {counter.address}, Effect::memory);
      continue_if(ir_.CreateICmpULT(count, llvm::ConstantInt::get(int_type, target_.words.threshold)), done);
    }
    if (counter.carry_address != nullptr || (target_.wide_counters && counter.bits == 32)) {
      add_watching_wraps(counter);
    } else {
      memory_instruction("red." + std::string(counter.space) + ".add." + type + " [$0], $1;",
                         {counter.address, ir_.CreateZExtOrTrunc(executions(), int_type)});
    }
    go_to(done);
  }
  ir_.CreateBr(end);
  ir_.SetInsertPoint(outside);
  count_dropped();
  go_to(end);
}

/// A thread that wraps the 32-bit counter adds 2^32 in device memory, where the block adds the rest. Without
/// a carry, it sets the counter to its maximum. It stays there, because later additions wrap as well.
void DeviceGenerator::add_watching_wraps(const WordCounter& counter) {
  const std::string space = counter.space;
  llvm::Value* added = executions();
  llvm::Value* before = assembly("atom." + space + ".add.u32 $0, [$1], $2;", ir_.getInt32Ty(),
                                 {counter.address, added}, Effect::memory);
  when(ir_.CreateICmpULT(ir_.CreateAdd(before, added), before), [&] {
    if (counter.carry_address == nullptr)
      return memory_instruction("red." + space + ".max.u32 [$0], $1;", {counter.address, i32(~0u)});
    memory_instruction("red.global.add.u64 [$0], $1;", {counter.carry_address, i64(std::uint64_t{1} << 32)});
  });
}

/// Reads, adds and writes: concurrent additions are lost.
void DeviceGenerator::add_plainly(const WordCounter& counter) {
  const std::string place = std::string(counter.space) + ".u" + std::to_string(counter.bits);
  llvm::Type* type = counter.bits == 64 ? ir_.getInt64Ty() : ir_.getInt32Ty();
  llvm::Value* count =
      assembly("ld.volatile." + place + " $0, [$1];", type, {counter.address}, Effect::memory);
  llvm::Value* added = ir_.CreateZExtOrTrunc(executions(), type);
  llvm::BasicBlock* end = new_block("stored");
  if (target_.words.threshold != 0) added = limited(added, count, end);
  memory_instruction("st.volatile." + place + " [$0], $1;", {counter.address, ir_.CreateAdd(count, added)});
  go_to(end);
}

/// The addend that does not lead beyond the threshold. Branches to `full` if the count is there already.
llvm::Value* DeviceGenerator::limited(llvm::Value* addend, llvm::Value* count, llvm::BasicBlock* full) {
  llvm::Value* threshold = llvm::ConstantInt::get(count->getType(), target_.words.threshold);
  continue_if(ir_.CreateICmpULT(count, threshold), full);
  llvm::Value* room = ir_.CreateSub(threshold, count);
  return ir_.CreateSelect(ir_.CreateICmpULT(addend, room), addend, room);
}

/// Atomic additions to less than a word do not exist, and one to the word would carry into the next counter.
/// Therefore a compare-and-swap of the word is repeated until no other thread has interfered.
void DeviceGenerator::add_in_word(const WordCounter& counter) {
  llvm::Type* type = ir_.getInt32Ty();
  llvm::Value* word_address = ir_.CreateAnd(counter.address, i64(~std::uint64_t{sizeof(std::uint32_t) - 1}));
  llvm::Value* byte = ir_.CreateAnd(ir_.CreateTrunc(counter.address, type), i32(3));
  llvm::Value* shift = ir_.CreateShl(byte, 3);
  llvm::Value* field = i32((1u << counter.bits) - 1);
  llvm::AllocaInst* slot = new_slot(type, "seen");
  ir_.CreateStore(assembly("ld.volatile.shared.u32 $0, [$1];", type, {word_address}, Effect::memory), slot);
  llvm::BasicBlock* attempt = new_block("attempt");
  llvm::BasicBlock* end = new_block("swapped");
  go_to(attempt);
  llvm::Value* seen = ir_.CreateLoad(type, slot);
  llvm::Value* count = ir_.CreateAnd(ir_.CreateLShr(seen, shift), field);
  llvm::Value* added = limited(executions(), count, end);
  // No carry: the sum stays below the threshold, which fits in the field.
  llvm::Value* swapped = ir_.CreateAdd(seen, ir_.CreateShl(added, shift));
  llvm::Value* found =
      assembly("atom.shared.cas.b32 $0, [$1], $2, $3;", type, {word_address, seen, swapped}, Effect::memory);
  ir_.CreateStore(found, slot);
  branch(ir_.CreateICmpEQ(found, seen), end, attempt);
}

/// Maps a word of an address to its element by two table look-ups (WordMap), without a search.
llvm::Value* DeviceGenerator::word_of_device(llvm::Value* word) {
  llvm::Type* wide_type = ir_.getInt64Ty();
  llvm::Type* entry_type = ir_.getInt32Ty();
  llvm::PointerType* pointer = llvm::PointerType::get(context_, global_space);
  llvm::Value* map = ir_.CreateIntToPtr(this->word(Word::Kind::word_map, 0, Extent::constant), pointer);
  llvm::AllocaInst* slot = new_slot(wide_type, "element");
  ir_.CreateStore(i64(unmapped), slot);
  llvm::BasicBlock* region_known = new_block("region");
  llvm::BasicBlock* page_known = new_block("page");
  llvm::BasicBlock* mapped = new_block("mapped");
  llvm::BasicBlock* end = new_block("found");
  llvm::Value* first_region = ir_.CreateLoad(wide_type, map);
  llvm::Value* regions = ir_.CreateLoad(wide_type, ir_.CreateGEP(wide_type, map, i64(1)));
  llvm::Value* region =
      ir_.CreateSub(ir_.CreateLShr(word, WordMap::region_bits - word_bytes_log2), first_region);
  branch(ir_.CreateICmpULT(region, regions), region_known, end);
  const auto entry = [&](llvm::Value* index) {
    llvm::Value* place = ir_.CreateAdd(index, i64(WordMap::header_entries));
    return wide(ir_.CreateLoad(entry_type, ir_.CreateGEP(entry_type, map, place)));
  };
  llvm::Value* none = i64(WordMap::none);
  llvm::Value* table = entry(region);
  branch(ir_.CreateICmpNE(table, none), page_known, end);
  constexpr std::uint64_t page_words_log2 = WordMap::page_bits - word_bytes_log2;
  constexpr std::uint64_t pages = std::uint64_t{1} << (WordMap::region_bits - WordMap::page_bits);
  llvm::Value* page = ir_.CreateAnd(ir_.CreateLShr(word, page_words_log2), i64(pages - 1));
  llvm::Value* shadow = entry(ir_.CreateAdd(table, page));
  branch(ir_.CreateICmpNE(shadow, none), mapped, end);
  llvm::Value* in_page = ir_.CreateAnd(word, i64((std::uint64_t{1} << page_words_log2) - 1));
  ir_.CreateStore(ir_.CreateOr(ir_.CreateShl(shadow, page_words_log2), in_page), slot);
  go_to(end);
  return ir_.CreateLoad(wide_type, slot);
}

}  // namespace lynxpp::cod
