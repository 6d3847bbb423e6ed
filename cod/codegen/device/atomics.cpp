// Atomic functions. A warp-uniform atomicAdd is first reduced over the active lanes: one access instead of up
// to 32 to the same address.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "cod/codegen/device/generator.h"

namespace lynxpp::cod {
namespace {

/// "add.u64": atomic operations name the type; signed additions use the unsigned type.
std::string operation_of(const std::string& operation, Type type) {
  const bool is_sum = operation == "add";
  const char letter = is_floating(type) ? 'f' : is_signed(type) && !is_sum ? 's' : 'u';
  return operation + "." + letter + std::to_string(bits_of(type));
}

const char* space_of(Symbol::Memory memory) {
  if (memory == Symbol::Memory::indirect) return "";  // a generic address
  return memory == Symbol::Memory::shared ? "shared." : "global.";
}

const char* name_of_operation(Api api) {
  if (api == Api::atomic_min) return "min";
  return api == Api::atomic_max ? "max" : "add";
}

/// blockThreadId() / 32
bool is_number_of_warp(const Expression& expression) {
  const Expression& thread = *expression.operands[0];
  const Expression& size = *expression.operands[1];
  const bool is_thread = thread.api != nullptr && thread.api->api == Api::block_thread_id;
  if (!is_thread || size.kind != ExpressionKind::integer) return false;
  if (expression.op == Operator::shift_right) return size.value >= 5 && size.value < 32;
  return expression.op == Operator::divide && size.value != 0 && size.value % 32 == 0;
}

}  // namespace

/// True if the value is the same in all lanes by construction, regardless of control flow.
bool DeviceGenerator::is_uniform(const Expression& expression) const {
  switch (expression.kind) {
    case ExpressionKind::integer:
    case ExpressionKind::floating:
    case ExpressionKind::size: return true;
    case ExpressionKind::name: {
      if (expression.extent != 0 || expression.symbol->kind == Symbol::Kind::constant) return true;
      const Expression* value = only_value(expression);
      return value != nullptr && is_uniform(*value);
    }
    case ExpressionKind::call:
      if (expression.api != nullptr && expression.api->api == Api::access_size && target_.has_lane_sizes)
        return false;
      return expression.api != nullptr && expression.api->uniform;
    case ExpressionKind::binary:
      if (is_number_of_warp(expression)) return true;
      break;
    case ExpressionKind::unary:
    case ExpressionKind::cast:
    case ExpressionKind::conditional: break;
    default: return false;
  }
  return std::all_of(expression.operands.begin(), expression.operands.end(),
                     [this](const ExpressionPtr& operand) { return is_uniform(*operand); });
}

llvm::Value* DeviceGenerator::atomic_call(const Expression& call) {
  const Expression& place = *call.operands[0];
  const Type type = place.type;
  const std::string operation = name_of_operation(call.api->api);
  Element target = element(place);
  // Atomic operations on a thread's local memory are undefined in hardware.
  if (target.is_shareable != nullptr) target.in_range = ir_.CreateAnd(target.in_range, target.is_shareable);
  llvm::Value* value = call.operands.size() > 1 ? expression_as(*call.operands[1], type)
                                                : llvm::ConstantInt::get(llvm_type(type), 1);
  if (call.operands.size() < 2 && is_floating(type)) value = llvm::ConstantFP::get(llvm_type(type), 1.0);
  if (type == Type::f64) require(60, 50);
  if (call.discarded) {
    if (operation == "add") {
      const bool is_same = call.operands.size() < 2 || is_uniform(*call.operands[1]);
      add_for_all(target, place, value, is_same, call.elected);
    } else {
      when_in_range(target, place, true, [&] { reduce_to_memory(operation.c_str(), target, value); });
    }
    return nullptr;
  }
  return old_of_atomic(operation.c_str(), target, place, value);
}

llvm::Value* DeviceGenerator::old_of_atomic(const char* operation, const Element& element,
                                            const Expression& place, llvm::Value* value) {
  llvm::Type* type = llvm_type(element.type);
  return value_in_range(element, place, true, type, [&] {
    llvm::Value* address = ir_.CreatePtrToInt(element.address, ir_.getInt64Ty());
    return assembly("atom." + std::string(space_of(element.memory)) + operation_of(operation, element.type) +
                        " $0, [$1], $2;",
                    type, {address, value}, Effect::memory);
  });
}

namespace {

/// True for the lane or thread index, possibly shifted or scaled: it differs between lanes, so comparing
/// lanes is unnecessary.
bool names_lane(const Expression& index) {
  using enum Api;
  if (index.api != nullptr)
    return is_one_of(index.api->api, {global_thread_id, block_thread_id, thread_index_x, lane_id});
  const bool keeps =
      index.kind == ExpressionKind::cast ||
      (index.kind == ExpressionKind::binary &&
       (index.op == Operator::add || index.op == Operator::subtract || index.op == Operator::multiply));
  return keeps && std::any_of(index.operands.begin(), index.operands.end(),
                              [](const ExpressionPtr& operand) { return names_lane(*operand); });
}

}  // namespace

/// An addition by all active lanes whose result is unused.
void DeviceGenerator::add_for_all(const Element& element, const Expression& place, llvm::Value* addend,
                                  bool uniform_addend, bool elected) {
  const bool is_pointed_to = place.symbol->memory == Symbol::Memory::indirect;
  const bool one_place =
      !is_pointed_to && std::all_of(place.operands.begin(), place.operands.end(),
                                    [this](const ExpressionPtr& index) { return is_uniform(*index); });
  const bool own_place =
      is_own_element(place) || std::any_of(place.operands.begin(), place.operands.end(),
                                           [](const ExpressionPtr& index) { return names_lane(*index); });
  when_in_range(element, place, true, [&] {
    if (elected || own_place || !is_integer(element.type)) return reduce_to_memory("add", element, addend);
    if (one_place) return aggregated_add(element, active_mask_here(), addend, uniform_addend);
    add_where_lanes_may_conflict(element, addend, uniform_addend);
  });
}

/// The registers belong to the splice pass; only this tally's statements access them.
void DeviceGenerator::add_to_tally(const Statement& statement) {
  const std::uint32_t index = statement.tally - 1;
  const bool adds_one = program_.tallies[index].adds_one;
  const auto& operands = statement.expression->operands;
  const std::string low = std::string(site_prefix) + std::string(tally_value) + std::to_string(index);
  const std::string high = std::string(site_prefix) + std::string(high_tally_value) + std::to_string(index);
  llvm::Type* nothing = ir_.getVoidTy();
  const std::string add = "add.u32 " + low + ", " + low + ", ";
  if (target_.wide_counters) {
    llvm::Value* addend = adds_one ? i64(1) : expression_as(*operands[1], Type::u64);
    assembly("add.u64 " + low + ", " + low + ", $0;", nothing, {addend}, Effect::volatile_read);
  } else if (adds_one) {
    assembly(add + "1;", nothing, {}, Effect::volatile_read);
  } else if (program_.tallies[index].is_paced) {
    assembly(add + "$0;", nothing, {expression_as(*operands[1], Type::u32)}, Effect::volatile_read);
  } else {
    llvm::Value* addend = expression_as(*operands[1], Type::u32);
    llvm::Value* sum =
        assembly(add + "$1; mov.b32 $0, " + low + ";", ir_.getInt32Ty(), {addend}, Effect::volatile_read);
    llvm::Value* wrapped = ir_.CreateZExt(ir_.CreateICmpULT(sum, addend), ir_.getInt32Ty());
    assembly("add.u32 " + high + ", " + high + ", $0;", nothing, {wrapped}, Effect::volatile_read);
  }
}

// ---------------------------------------------------------------- `a[i] op= x`

namespace {

/// True if `expression` is the thread index, or a variable whose only value is the thread index.
bool is_number_of_thread(const Expression& expression, Symbol::Memory memory) {
  if (expression.api != nullptr) {
    return expression.api->api == Api::global_thread_id ||
           (expression.api->api == Api::block_thread_id && memory == Symbol::Memory::shared);
  }
  const Expression* value = only_value(expression);
  return value != nullptr && bits_of(expression.symbol->type) >= 32 && is_integer(expression.symbol->type) &&
         is_number_of_thread(*value, memory);
}

}  // namespace

/// True if no other thread accesses the element: one of its indices is the thread index.
bool DeviceGenerator::is_own_element(const Expression& target) const {
  if (target.symbol->collection != nullptr || target.symbol->pointer != nullptr) return false;
  return std::any_of(target.operands.begin(), target.operands.end(), [&](const ExpressionPtr& index) {
    return is_number_of_thread(*index, target.symbol->memory);
  });
}

bool DeviceGenerator::updates_atomically(const Expression& target) {
  const Symbol::Memory memory = target.symbol->memory;
  return (memory == Symbol::Memory::global || memory == Symbol::Memory::shared) && !is_own_element(target);
}

llvm::Value* DeviceGenerator::add_atomically(const Element& element, const Expression& target,
                                             const Expression& addend, bool subtracts, Wanted wanted) {
  llvm::Value* value = expression_as(addend, element.type);
  if (subtracts) value = is_floating(element.type) ? ir_.CreateFNeg(value) : ir_.CreateNeg(value);
  if (element.type == Type::f64) require(60, 50);
  if (wanted != Wanted::nothing) {
    llvm::Value* old = old_of_atomic("add", element, target, value);
    if (wanted == Wanted::old_value) return old;
    return is_floating(element.type) ? ir_.CreateFAdd(old, value) : ir_.CreateAdd(old, value);
  }
  add_for_all(element, target, value, is_uniform(addend), target.elected);
  return nullptr;
}

/// Updates an element in any way: compare-and-swap of its memory word until no other thread has interfered.
/// An out-of-range element reads as 0.
llvm::Value* DeviceGenerator::swap_until_unchanged(const Element& element, const Expression& target,
                                                   bool yields_old, const Update& update) {
  llvm::AllocaInst* result = new_slot(llvm_type(element.type), "updated");
  ir_.CreateStore(zero(element.type), result);
  const unsigned bytes = bytes_of(element.type);
  const bool is_part = bytes < 4;
  llvm::Type* word_type = ir_.getIntNTy(is_part ? 32 : bytes * 8);
  llvm::Type* bits_type = ir_.getIntNTy(bytes * 8);
  when_in_range(element, target, true, [&] {
    llvm::Value* address = ir_.CreatePtrToInt(element.address, ir_.getInt64Ty());
    llvm::Value* shift = i32(0);
    if (is_part) {
      shift = ir_.CreateShl(ir_.CreateTrunc(ir_.CreateAnd(address, i64(3)), word_type), 3);
      address = ir_.CreateAnd(address, i64(~std::uint64_t{3}));
    }
    const std::string space = space_of(element.memory);
    const std::string width = std::to_string(word_type->getIntegerBitWidth());
    llvm::Value* seen =
        assembly("ld." + space + "b" + width + " $0, [$1];", word_type, {address}, Effect::memory);
    llvm::BasicBlock* before = ir_.GetInsertBlock();
    llvm::BasicBlock* loop = new_block("swap");
    llvm::BasicBlock* end = new_block("swapped");
    go_to(loop);
    llvm::PHINode* expected = ir_.CreatePHI(word_type, 2);
    expected->addIncoming(seen, before);
    llvm::Value* bits = is_part ? ir_.CreateTrunc(ir_.CreateLShr(expected, shift), bits_type) : expected;
    llvm::Value* old = element.type == Type::boolean ? ir_.CreateIsNotNull(bits)
                                                     : ir_.CreateBitCast(bits, llvm_type(element.type));
    llvm::Value* changed = update(old);
    ir_.CreateStore(yields_old ? old : changed, result);
    llvm::Value* word = element.type == Type::boolean ? ir_.CreateZExt(changed, bits_type)
                                                      : ir_.CreateBitCast(changed, bits_type);
    if (is_part) {
      llvm::Value* mask = ir_.CreateShl(i32(bytes == 1 ? 0xff : 0xffff), shift);
      word = ir_.CreateShl(ir_.CreateZExt(word, word_type), shift);
      word = ir_.CreateOr(ir_.CreateAnd(expected, ir_.CreateNot(mask)), word);
    }
    llvm::Value* found = assembly("atom." + space + "cas.b" + width + " $0, [$1], $2, $3;", word_type,
                                  {address, expected, word}, Effect::memory);
    expected->addIncoming(found, ir_.GetInsertBlock());
    branch(ir_.CreateICmpEQ(found, expected), end, loop);
  });
  return ir_.CreateLoad(llvm_type(element.type), result);
}

// ---------------------------------------------------------------- sums over lanes

void DeviceGenerator::reduce_to_memory(const char* operation, const Element& element, llvm::Value* value) {
  llvm::Value* address = ir_.CreatePtrToInt(element.address, ir_.getInt64Ty());
  memory_instruction(
      "red." + std::string(space_of(element.memory)) + operation_of(operation, element.type) + " [$0], $1;",
      {address, value});
}

/// For indices that may differ between lanes: one access if the index is the same in all active lanes, else
/// one per lane.
void DeviceGenerator::add_where_lanes_may_conflict(const Element& element, llvm::Value* addend,
                                                   bool uniform_addend) {
  // Without redux.sync, summing takes one step per lane, which may cost more than it saves.
  if (target_.sm < 80 && !uniform_addend) return reduce_to_memory("add", element, addend);
  llvm::Value* mask = active_mask_here();
  llvm::Value* leader = lowest_lane(mask);
  llvm::Value* address = ir_.CreatePtrToInt(element.address, ir_.getInt64Ty());
  llvm::Value* is_same = ir_.CreateICmpEQ(shuffled(address, leader, mask), address);
  llvm::BasicBlock* together = new_block("together");
  llvm::BasicBlock* apart = new_block("apart");
  llvm::BasicBlock* end = new_block("summed");
  branch(ir_.CreateICmpEQ(vote(is_same, mask), mask), together, apart);
  aggregated_add(element, mask, addend, uniform_addend);
  ir_.CreateBr(end);
  ir_.SetInsertPoint(apart);
  reduce_to_memory("add", element, addend);
  go_to(end);
}

/// One atomic addition of the sum over the mask, which contains all active lanes, by its lowest lane.
void DeviceGenerator::aggregated_add(const Element& element, llvm::Value* mask, llvm::Value* addend,
                                     bool uniform_addend) {
  llvm::Value* total = nullptr;
  if (uniform_addend) {
    llvm::Value* lanes = population_count(mask);
    total = ir_.CreateMul(addend, ir_.CreateZExt(lanes, addend->getType()));
  } else {
    total = sum_over(mask, addend);
  }
  when(is_lowest_of(mask), [&] { reduce_to_memory("add", element, total); });
}

llvm::Value* DeviceGenerator::sum_over(llvm::Value* mask, llvm::Value* addend) {
  if (target_.sm < 80) return sum_by_shuffles(mask, addend);
  require(80, 70);
  return sum_by_redux(mask, addend);
}

/// redux.sync adds 32-bit values. A 64-bit addend is split into 27-bit limbs, whose sums over 32 lanes fit in
/// 32 bits.
llvm::Value* DeviceGenerator::sum_by_redux(llvm::Value* mask, llvm::Value* addend) {
  llvm::Type* word_type = ir_.getInt32Ty();
  const auto reduce = [&](llvm::Value* value) {
    return assembly("redux.sync.add.u32 $0, $1, $2;", word_type, {value, mask}, Effect::convergent);
  };
  if (addend->getType()->isIntegerTy(32)) return reduce(addend);
  constexpr unsigned limb_bits = 27;
  llvm::Value* total = nullptr;
  for (unsigned shift = 0; shift < 64; shift += limb_bits) {
    llvm::Value* limb = ir_.CreateTrunc(ir_.CreateLShr(addend, shift), word_type);
    limb = ir_.CreateAnd(limb, (1u << limb_bits) - 1);
    llvm::Value* part = ir_.CreateShl(wide(reduce(limb)), shift);
    total = total == nullptr ? part : ir_.CreateAdd(total, part);
  }
  return total;
}

/// Before sm_80: every lane of the mask sends its addend to all others. Works for any mask.
llvm::Value* DeviceGenerator::sum_by_shuffles(llvm::Value* mask, llvm::Value* addend) {
  return gathered(
      mask, addend, llvm::ConstantInt::get(addend->getType(), 0),
      [&](llvm::Value* total, llvm::Value* other, llvm::Value*) { return ir_.CreateAdd(total, other); });
}

llvm::Value* DeviceGenerator::shuffled(llvm::Value* value, llvm::Value* lane, llvm::Value* mask) {
  llvm::Type* word_type = ir_.getInt32Ty();
  const auto shuffle = [&](llvm::Value* word) {
    return assembly("shfl.sync.idx.b32 $0, $1, $2, 31, $3;", word_type, {word, lane, mask},
                    Effect::convergent);
  };
  if (value->getType()->isIntegerTy(32)) return shuffle(value);
  llvm::Value* low = wide(shuffle(ir_.CreateTrunc(value, word_type)));
  llvm::Value* high = wide(shuffle(ir_.CreateTrunc(ir_.CreateLShr(value, 32), word_type)));
  return ir_.CreateOr(low, ir_.CreateShl(high, 32));
}

}  // namespace lynxpp::cod
