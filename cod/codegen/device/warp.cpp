// Values computed by a warp's lanes together: sums, extremes, and numbers of distinct values.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "cod/codegen/device/generator.h"

namespace lynxpp::cod {

llvm::Value* DeviceGenerator::vote(llvm::Value* condition, llvm::Value* mask) {
  return assembly("vote.sync.ballot.b32 $0, $1, $2;", ir_.getInt32Ty(), {condition, mask},
                  Effect::convergent);
}

/// A loop over the lanes of the mask. They stay converged because all of them count down the same mask.
llvm::Value* DeviceGenerator::gathered(llvm::Value* mask, llvm::Value* value, llvm::Value* start,
                                       const Combine& combine) {
  llvm::BasicBlock* before = ir_.GetInsertBlock();
  llvm::BasicBlock* loop = new_block("gather");
  llvm::BasicBlock* end = new_block("gathered");
  go_to(loop);
  llvm::PHINode* remaining = ir_.CreatePHI(ir_.getInt32Ty(), 2);
  llvm::PHINode* total = ir_.CreatePHI(start->getType(), 2);
  remaining->addIncoming(mask, before);
  total->addIncoming(start, before);
  llvm::Value* lane = lowest_lane(remaining);
  llvm::Value* next = combine(total, shuffled(value, lane, mask), lane);
  llvm::Value* rest = ir_.CreateAnd(remaining, ir_.CreateSub(remaining, i32(1)));
  llvm::BasicBlock* last = ir_.GetInsertBlock();
  remaining->addIncoming(rest, last);
  total->addIncoming(next, last);
  leave_if(ir_.CreateIsNotNull(rest), loop, end);
  return next;
}

llvm::Value* DeviceGenerator::floating_sum(llvm::Value* mask, llvm::Value* value) {
  llvm::Value* bits = ir_.CreateBitCast(value, ir_.getInt64Ty());
  const auto add = [&](llvm::Value* total, llvm::Value* other, llvm::Value*) {
    return ir_.CreateFAdd(total, ir_.CreateBitCast(other, ir_.getDoubleTy()));
  };
  return out_of_line("sum_f64", ir_.getDoubleTy(), {mask, bits}, [&](const auto& parameters) {
    return gathered(parameters[0], parameters[1], llvm::ConstantFP::get(ir_.getDoubleTy(), 0.0), add);
  });
}

llvm::Value* DeviceGenerator::extreme_over(llvm::Value* mask, llvm::Value* value, Api api, Type type) {
  const bool is_max = api == Api::warp_max;
  llvm::Type* const own = value->getType();
  if (target_.sm >= 80 && own->isIntegerTy(32)) {
    require(80, 70);
    const std::string operation = std::string(is_max ? "max" : "min") + (is_signed(type) ? ".s32" : ".u32");
    return assembly("redux.sync." + operation + " $0, $1, $2;", own, {value, mask}, Effect::convergent);
  }
  const char* const kind = is_floating(type) ? "_f" : is_signed(type) ? "_s" : "_u";
  const std::string name = (is_max ? "max" : "min") + (kind + std::to_string(bits_of(type)));
  return out_of_line(name, own, {mask, value}, [&](const auto& parameters) {
    return extreme_by_gathering(parameters[0], parameters[1], is_max, type);
  });
}

llvm::Value* DeviceGenerator::extreme_by_gathering(llvm::Value* mask, llvm::Value* value, bool is_max,
                                                   Type type) {
  llvm::Type* const own = value->getType();
  llvm::Type* bits_type = ir_.getIntNTy(own->getPrimitiveSizeInBits());
  llvm::Value* bits = ir_.CreateBitCast(value, bits_type);
  return gathered(mask, bits, value, [&](llvm::Value* best, llvm::Value* other_bits, llvm::Value*) {
    llvm::Value* other = ir_.CreateBitCast(other_bits, own);
    llvm::Value* better = compare(is_max ? Operator::greater : Operator::less, other, best, type);
    return ir_.CreateSelect(better, other, best);
  });
}

llvm::Value* DeviceGenerator::warp_value_call(const Expression& call) {
  llvm::Value* value = expression_as(*call.operands[0], call.type);
  llvm::Value* mask = active_mask();
  if (call.api->api != Api::warp_sum) return extreme_over(mask, value, call.api->api, call.type);
  return call.type == Type::f64 ? floating_sum(mask, value) : sum_over(mask, value);
}

// ---------------------------------------------------------------- different values

/// Addresses usually do not decrease from lane to lane. One shuffle and one vote test this; then only the
/// lanes where a new value begins count. match.any, which costs several times as much, handles all other
/// cases.
llvm::Value* DeviceGenerator::first_with_value(llvm::Value* value, llvm::Value* mask, llvm::Value* group) {
  llvm::Value* lane = lane_id();
  llvm::Value* lower = ir_.CreateAnd(ir_.CreateAnd(mask, lower_lanes()), group);
  llvm::Value* is_first = ir_.CreateIsNull(lower);
  llvm::Value* before = shuffled(value, highest_lane(lower, lane), mask);
  llvm::Value* ascends = ir_.CreateOr(is_first, ir_.CreateICmpULE(before, value));
  llvm::Value* begins = ir_.CreateOr(is_first, ir_.CreateICmpNE(before, value));
  llvm::Value* all_ascend = ir_.CreateICmpEQ(vote(ascends, mask), mask);
  return value_where(ir_.CreateNot(all_ascend), begins, [&] {
    if (target_.sm < 70) return first_by_elimination(mask, value, group);
    require(70, 60);
    const std::string width = value->getType()->isIntegerTy(64) ? "64" : "32";
    llvm::Value* same = assembly("match.any.sync.b" + width + " $0, $1, $2;", ir_.getInt32Ty(), {value, mask},
                                 Effect::convergent);
    return ir_.CreateIsNull(ir_.CreateAnd(same, lower));
  });
}

/// The number of distinct values in the active lanes; `in_halves`: the sum of those in lanes 0 to 15 and in
/// lanes 16 to 31.
llvm::Value* DeviceGenerator::unique_count(llvm::Value* value, bool in_halves) {
  llvm::Value* mask = active_mask();
  llvm::Value* lane = lane_id();
  llvm::Value* group = i32(0xffffffffu);
  if (in_halves) group = ir_.CreateSelect(ir_.CreateICmpULT(lane, i32(16)), i32(0xffffu), i32(0xffff0000u));
  llvm::Value* first = first_with_value(value, mask, group);
  return population_count(vote(first, mask));
}

/// Before sm_70: removes the lanes that hold the lowest remaining lane's value until no lane is left. The
/// lowest lane is the first with its value.
llvm::Value* DeviceGenerator::first_by_elimination(llvm::Value* mask, llvm::Value* value,
                                                   llvm::Value* group) {
  llvm::Type* word = ir_.getInt32Ty();
  llvm::Value* own = lane_id();
  llvm::BasicBlock* before = ir_.GetInsertBlock();
  llvm::BasicBlock* loop = new_block("eliminate");
  llvm::BasicBlock* end = new_block("eliminated");
  go_to(loop);
  llvm::PHINode* remaining = ir_.CreatePHI(word, 2);
  llvm::PHINode* was_first = ir_.CreatePHI(ir_.getInt1Ty(), 2);
  remaining->addIncoming(mask, before);
  was_first->addIncoming(ir_.getFalse(), before);
  llvm::Value* lane = lowest_lane(remaining);
  llvm::Value* has_value = ir_.CreateICmpEQ(shuffled(value, lane, mask), value);
  llvm::Value* in_group = ir_.CreateIsNotNull(ir_.CreateAnd(ir_.CreateShl(i32(1), lane), group));
  llvm::Value* same = vote(ir_.CreateAnd(has_value, in_group), mask);
  llvm::Value* rest = ir_.CreateAnd(remaining, ir_.CreateNot(same));
  llvm::Value* is_first = ir_.CreateOr(was_first, ir_.CreateICmpEQ(lane, own));
  remaining->addIncoming(rest, loop);
  was_first->addIncoming(is_first, loop);
  leave_if(ir_.CreateIsNotNull(rest), loop, end);
  return is_first;
}

llvm::Value* DeviceGenerator::unique_call(const Expression& call) {
  const bool in_halves = call.value != 0;
  const Expression& counted = *call.operands[0];
  const bool is_array = counted.symbol != nullptr && counted.symbol->kind == Symbol::Kind::array &&
                        counted.kind == ExpressionKind::name;
  if (is_array) return ir_.CreateLoad(ir_.getInt32Ty(), unique_slot(*counted.symbol, in_halves));
  const Type type = bits_of(counted.type) > 32 ? Type::u64 : Type::u32;
  return unique_count(expression_as(counted, type), in_halves);
}

/// The count of the values that the lanes assigned last. It is stored because a later use under an election
/// has only one active lane.
llvm::AllocaInst* DeviceGenerator::unique_slot(const Symbol& array, bool in_halves) {
  llvm::AllocaInst*& slot = unique_slots_[{&array, in_halves}];
  if (slot == nullptr) slot = new_zero_slot(ir_.getInt32Ty(), array.name);
  return slot;
}

void DeviceGenerator::note_assignment(const Symbol& array, llvm::Value* value) {
  if (!array.counted_whole && !array.counted_halves) return;
  llvm::Value* bits = value;
  if (is_floating(array.type)) {
    bits = ir_.CreateBitCast(value, ir_.getIntNTy(bits_of(array.type)));
  } else if (bits_of(array.type) < 32) {
    bits = ir_.CreateZExt(value, ir_.getInt32Ty());
  }
  if (array.counted_whole) ir_.CreateStore(unique_count(bits, false), unique_slot(array, false));
  if (array.counted_halves) ir_.CreateStore(unique_count(bits, true), unique_slot(array, true));
}

}  // namespace lynxpp::cod
