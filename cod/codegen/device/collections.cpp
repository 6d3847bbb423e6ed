// Traces, histograms and maps on the device. Nothing here waits for another thread: a lane only retries
// elsewhere.
#include <llvm/IR/CFG.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>
#include <bit>

#include "cod/codegen/device/generator.h"

namespace lynxpp::cod {
namespace {

/// Map slots that are probed before an update is dropped. Half of the slots stay free as long as the
/// requested capacity is not exceeded, and probe sequences are as good as random: each step finds a free slot
/// with a probability of one half.
constexpr std::uint64_t maximum_probes = 128;
constexpr std::uint64_t nowhere = ~std::uint64_t{0};

}  // namespace

llvm::Value* DeviceGenerator::element_address(const Symbol& array, llvm::Value* offset) {
  llvm::Value* address = ir_.CreateGEP(storage_type(array.type), base_of(array), offset);
  return ir_.CreatePtrToInt(address, ir_.getInt64Ty());
}

llvm::Value* DeviceGenerator::call_collection(const Expression& call) {
  const Collection& collection = *call.operands[0]->symbol->collection;
  if (call.api->arguments == ApiArguments::kept) return is_kept(call, collection);
  return collection.kind == Collection::Kind::trace ? append(call, collection) : record(call, collection);
}

// ---------------------------------------------------------------- traces

/// Reserves indices for the active lanes from a counter that is the same for all of them, with one atomic
/// operation per warp.
llvm::Value* DeviceGenerator::reserve_together(llvm::Value* counter) {
  llvm::Value* mask = active_mask_here();
  llvm::Value* lanes = wide(population_count(mask));
  // Branch-free, because the mask is not valid after a branch.
  llvm::Value* reserved = assembly("mov.b64 $0, 0; @$3 atom.global.add.u64 $0, [$1], $2;", ir_.getInt64Ty(),
                                   {counter, lanes, is_lowest_of(mask)}, Effect::memory);
  llvm::Value* leader = lowest_lane(mask);
  llvm::Value* first = shuffled(reserved, leader, mask);
  llvm::Value* before = ir_.CreateAnd(mask, lower_lanes());
  return ir_.CreateAdd(first, wide(population_count(before)));
}

llvm::Value* DeviceGenerator::append(const Expression& call, const Collection& trace) {
  const Expression& index = *call.operands[0];
  std::vector<llvm::Value*> values;
  for (std::size_t i = 0; i < trace.leaves.size(); ++i)
    values.push_back(expression_as(*call.operands[i + 1], trace.leaves[i]->type));
  llvm::Value* capacity = i64(trace.capacity);
  llvm::AllocaInst* result = new_slot(ir_.getInt64Ty(), "entry");
  const std::optional<TraceStream> streams = streamed(trace);
  ir_.CreateStore(streams ? i64(not_kept) : capacity, result);
  const CheckedOffset at = checked_offset(trace.leading, index);
  const bool is_one = std::all_of(index.operands.begin(), index.operands.end(),
                                  [this](const ExpressionPtr& each) { return is_uniform(*each); });
  when_in_range({nullptr, at.in_range, Type::u64}, index, true, [&] {
    llvm::Value* counter = element_address(*trace.counter, at.offset);
    llvm::Value* number = is_one && !call.elected
                              ? reserve_together(counter)
                              : assembly("atom.global.add.u64 $0, [$1], $2;", ir_.getInt64Ty(),
                                         {counter, i64(1)}, Effect::memory);
    when(ir_.CreateICmpULT(number, capacity), [&] {
      llvm::Value* offset = ir_.CreateAdd(ir_.CreateMul(at.offset, capacity), number);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const Symbol& leaf = *trace.leaves[i];
        llvm::Value* address = ir_.CreateGEP(storage_type(leaf.type), base_of(leaf), offset);
        store({address, nullptr, leaf.type, leaf.memory}, values[i], call);
      }
      ir_.CreateStore(number, result);
    });
    if (streams) stream({call, trace, values, counter, number}, *streams, result);
  });
  return ir_.CreateLoad(ir_.getInt64Ty(), result);
}

llvm::Value* DeviceGenerator::is_kept(const Expression& call, const Collection& trace) {
  llvm::Value* number = expression_as(*call.operands[1], Type::u64);
  llvm::Value* kept = streamed(trace) ? ir_.CreateICmpNE(number, i64(not_kept))
                                      : ir_.CreateICmpULT(number, i64(trace.capacity));
  return ir_.CreateZExt(kept, ir_.getInt32Ty());
}

// ---------------------------------------------------------------- histograms

/// The bin of a value, as an i64, and whether the value is below the first bin or above the last one.
DeviceGenerator::Bin DeviceGenerator::bin_of(llvm::Value* value, bool is_signed_value,
                                             const Collection& histogram) {
  const std::int64_t last = histogram.bin_bound(histogram.capacity);
  const auto constant = [&](std::int64_t bound) { return i64(static_cast<std::uint64_t>(bound)); };
  Bin bin;
  if (is_signed_value) {
    bin.below = ir_.CreateICmpSLT(value, constant(histogram.first));
    bin.beyond = ir_.CreateICmpSGE(value, constant(last));
  } else {
    bin.below = ir_.CreateICmpULT(value, constant(std::max<std::int64_t>(histogram.first, 0)));
    bin.beyond = ir_.CreateICmpUGE(value, constant(std::max<std::int64_t>(last, 0)));
  }
  if (histogram.is_linear) {
    llvm::Value* offset = ir_.CreateSub(value, constant(histogram.first));
    bin.number = ir_.CreateUDiv(offset, i64(histogram.width));
  } else {
    llvm::Value* quotient = ir_.CreateUDiv(value, constant(histogram.first));
    quotient = ir_.CreateSelect(bin.below, i64(1), quotient);
    llvm::Value* zeros = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, quotient, ir_.getTrue());
    bin.number = ir_.CreateSub(i64(63), zeros);
  }
  return bin;
}

llvm::Value* DeviceGenerator::record(const Expression& call, const Collection& histogram) {
  const Expression& index = *call.operands[0];
  const Expression& recorded = *call.operands[1];
  const bool is_signed_value = is_signed(promote(recorded.type));
  llvm::Value* value = expression_as(recorded, is_signed_value ? Type::i64 : Type::u64);
  llvm::Value* count = call.operands.size() > 2 ? expression_as(*call.operands[2], Type::u64) : i64(1);
  const CheckedOffset at = checked_offset(histogram.leading, index);
  when_in_range({nullptr, at.in_range, Type::u64}, index, true, [&] {
    const Bin bin = bin_of(value, is_signed_value, histogram);
    llvm::Value* first = ir_.CreateMul(at.offset, i64(histogram.capacity));
    llvm::Value* inside = ir_.CreateAdd(first, bin.number);
    llvm::Value* address = element_address(*histogram.leaves[0], inside);
    address = ir_.CreateSelect(bin.beyond, element_address(*histogram.overflow, at.offset), address);
    address = ir_.CreateSelect(bin.below, element_address(*histogram.counter, at.offset), address);
    const Element target{ir_.CreateIntToPtr(address, ir_.getPtrTy(1)), nullptr, Type::u64};
    const bool is_same = call.operands.size() < 3 || is_uniform(*call.operands[2]);
    if (call.elected) return reduce_to_memory("add", target, count);
    add_where_lanes_may_conflict(target, count, is_same);
  });
  return nullptr;
}

// ---------------------------------------------------------------- maps

llvm::Value* DeviceGenerator::hash_of(const std::vector<llvm::Value*>& words) {
  // The finalizer of splitmix64, applied to one word after the other.
  llvm::Value* hash = i64(0);
  for (llvm::Value* word : words) {
    hash = ir_.CreateAdd(ir_.CreateXor(hash, word), i64(0x9e3779b97f4a7c15));
    hash = ir_.CreateMul(ir_.CreateXor(hash, ir_.CreateLShr(hash, 30)), i64(0xbf58476d1ce4e5b9));
    hash = ir_.CreateMul(ir_.CreateXor(hash, ir_.CreateLShr(hash, 27)), i64(0x94d049bb133111eb));
    hash = ir_.CreateXor(hash, ir_.CreateLShr(hash, 31));
  }
  return hash;
}

/// Each word is written once, by compare-and-swap from zero. A slot with a word that differs from the key
/// therefore keeps it, and all threads with the same key probe the same slots and stop at the same one. The
/// thread that writes the last word has found its own key in all previous words, so no slot stays half
/// occupied.
///
/// The code reads memory again instead of using the result of the swap. ptxas assumes that a loop whose exit
/// depends on the result of an atomic operation waits for another lane, and makes the lane yield; the others
/// then proceed without it, and the warp is diverged from there on.
void DeviceGenerator::match_slot(const Collection& map, const std::vector<llvm::Value*>& words,
                                 llvm::Value* slot, bool inserts, const Matched& matched) {
  llvm::Type* wide_type = ir_.getInt64Ty();
  for (std::size_t i = 0; i < words.size(); ++i) {
    llvm::Value* address = element_address(*map.key_words[i], slot);
    llvm::BasicBlock* next = i + 1 == words.size() ? matched.same : new_block("word");
    llvm::BasicBlock* differs = new_block("differs");
    // A stale value can only be zero, and then the swap has no effect.
    llvm::Value* seen = assembly("ld.global.u64 $0, [$1];", wide_type, {address}, Effect::memory);
    leave_if(ir_.CreateICmpEQ(seen, words[i]), next, differs);
    llvm::Value* is_free = ir_.CreateIsNull(seen);
    if (inserts) {
      llvm::BasicBlock* take = new_block("take");
      branch(is_free, take, matched.other);
      static_cast<void>(assembly("atom.global.cas.b64 $0, [$1], $2, $3;", wide_type,
                                 {address, i64(0), words[i]}, Effect::memory));
      ir_.CreateBr(matched.again);
    } else {
      ir_.CreateCondBr(is_free, matched.absent, matched.other);
    }
    ir_.SetInsertPoint(next);
  }
}

/// The key whose words are zero has a dedicated slot. Continues at the insertion point for all other keys.
void DeviceGenerator::probe_zero_slot(const Search& search, llvm::Value* zero_slot) {
  llvm::BasicBlock* is_zero = new_block("zero_key");
  llvm::BasicBlock* is_other = new_block("key");
  branch(ir_.CreateIsNull(search.words[0]), is_zero, is_other);
  ir_.CreateStore(zero_slot, search.slot);
  if (search.inserts) {
    memory_instruction("st.global.u64 [$0], $1;",
                       {element_address(*search.map.key_words[0], zero_slot), i64(1)});
  }
  ir_.CreateBr(search.found);
  ir_.SetInsertPoint(is_other);
}

/// Probes one slot after `base` after the other until the key is found or known to be absent.
void DeviceGenerator::probe_slots(const Search& search, llvm::Value* base) {
  const auto& [map, words, inserts, found, absent, slot_variable] = search;
  llvm::Type* wide_type = ir_.getInt64Ty();
  llvm::Value* hash = hash_of(words);
  llvm::Value* step = ir_.CreateOr(ir_.CreateLShr(hash, 32), i64(1));
  llvm::Value* mask = i64(map.capacity - 1);
  llvm::BasicBlock* before = ir_.GetInsertBlock();
  llvm::BasicBlock* probe = new_block("probe");
  llvm::BasicBlock* other = new_block("other_slot");
  llvm::BasicBlock* next = new_block("next");
  go_to(probe);
  llvm::PHINode* count = ir_.CreatePHI(wide_type, 2);
  llvm::PHINode* at = ir_.CreatePHI(wide_type, 2);
  count->addIncoming(i64(0), before);
  at->addIncoming(hash, before);
  llvm::Value* slot = ir_.CreateAdd(base, ir_.CreateAnd(at, mask));
  ir_.CreateStore(slot, slot_variable);
  ir_.SetInsertPoint(next);
  llvm::PHINode* advance = ir_.CreatePHI(wide_type, 2);
  llvm::Value* tried = ir_.CreateAdd(count, i64(1));
  count->addIncoming(tried, next);
  at->addIncoming(ir_.CreateAdd(at, advance), next);
  ir_.SetInsertPoint(probe);
  match_slot(map, words, slot, inserts, {found, other, absent, next});
  ir_.SetInsertPoint(other);
  advance->addIncoming(step, other);
  ir_.CreateBr(next);
  for (llvm::BasicBlock* each : llvm::predecessors(next)) {
    if (each != other) advance->addIncoming(i64(0), each);
  }
  ir_.SetInsertPoint(next);
  // Each word that is written causes one more probe of the same slot.
  const std::uint64_t limit = std::min(map.capacity, maximum_probes) + words.size();
  ir_.CreateCondBr(ir_.CreateICmpULT(tried, i64(limit)), probe, absent);
}

void DeviceGenerator::search_entry(const Collection& map, const std::vector<llvm::Value*>& words,
                                   llvm::Value* lead, bool inserts, llvm::AllocaInst* result) {
  llvm::Type* wide_type = ir_.getInt64Ty();
  llvm::Value* base = ir_.CreateMul(lead, i64(map.stride()));
  llvm::BasicBlock* found = new_block("found");
  llvm::BasicBlock* absent = new_block("absent");
  llvm::BasicBlock* end = new_block("searched");
  const Search search{map, words, inserts, found, absent, new_slot(wide_type, "slot")};
  llvm::Value* zero_slot = ir_.CreateAdd(base, i64(map.capacity));
  if (map.has_zero_slot()) probe_zero_slot(search, zero_slot);
  probe_slots(search, base);
  ir_.SetInsertPoint(found);
  ir_.CreateStore(ir_.CreateLoad(wide_type, search.slot), result);
  ir_.CreateBr(end);
  ir_.SetInsertPoint(absent);
  if (inserts) {
    memory_instruction("red.global.add.u64 [$0], $1;", {element_address(*map.counter, lead), i64(1)});
  }
  go_to(end);
}

llvm::Value* DeviceGenerator::find_entry(const Expression& index, const Collection& map, bool inserts) {
  llvm::AllocaInst* result = new_slot(ir_.getInt64Ty(), "entry");
  ir_.CreateStore(i64(nowhere), result);
  const CheckedOffset lead = checked_offset(map.leading, index);
  const std::vector<llvm::Value*> words = key_words(index, map);
  if (lead.in_range != nullptr)
    when_in_range({nullptr, ir_.CreateNot(lead.in_range)}, index, false, [&] { count_dropped(); });
  when_in_range({nullptr, lead.in_range}, index, false,
                [&] { search_entry(map, words, lead.offset, inserts, result); });
  return ir_.CreateLoad(ir_.getInt64Ty(), result);
}

}  // namespace lynxpp::cod
