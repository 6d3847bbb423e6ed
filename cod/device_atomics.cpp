// Atomic functions. An atomicAdd whose place is the same for the whole warp is reduced over the active
// lanes first: one access instead of up to 32 to the same address.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "cod/device_generator.h"

namespace lynxpp::cod {
namespace {

/// "add.u64": atomic operations name the type, and additions of signed numbers are those of unsigned ones.
std::string operation_of(const std::string& operation, Type type) {
  const bool is_sum = operation == "add";
  const char letter = is_floating(type) ? 'f' : is_signed(type) && !is_sum ? 's' : 'u';
  return operation + "." + letter + std::to_string(bits_of(type));
}

const char* space_of(Symbol::Memory memory) {
  return memory == Symbol::Memory::shared ? "shared." : "global.";
}

const char* name_of_operation(Api api) {
  if (api == Api::atomic_min) return "min";
  return api == Api::atomic_max ? "max" : "add";
}

}  // namespace

/// The same in every lane by construction, wherever the lanes are.
bool DeviceGenerator::is_uniform(const Expression& expression) const {
  switch (expression.kind) {
    case ExpressionKind::integer:
    case ExpressionKind::floating:
    case ExpressionKind::size: return true;
    case ExpressionKind::name: {
      if (expression.extent != 0 || expression.symbol->kind == Symbol::Kind::constant) return true;
      const Symbol& symbol = *expression.symbol;
      return symbol.kind == Symbol::Kind::local && symbol.assignments == 0 && symbol.initializer != nullptr &&
             is_uniform(*symbol.initializer);
    }
    case ExpressionKind::call: return expression.api != nullptr && expression.api->uniform;
    case ExpressionKind::unary:
      if (expression.op == Operator::increment || expression.op == Operator::decrement) return false;
      break;
    case ExpressionKind::binary:
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
  const Element target = element(place);
  llvm::Value* value = call.operands.size() > 1 ? expression_as(*call.operands[1], type)
                                                : llvm::ConstantInt::get(llvm_type(type), 1);
  if (call.operands.size() < 2 && is_floating(type)) value = llvm::ConstantFP::get(llvm_type(type), 1.0);
  if (type == Type::f64) require(60, 50);
  if (call.discarded) {
    const bool one_place = std::all_of(place.operands.begin(), place.operands.end(),
                                       [this](const ExpressionPtr& index) { return is_uniform(*index); });
    when_in_range(target, place, true, [&] {
      if (operation == "add" && one_place && is_integer(type) && !call.elected) {
        return aggregated_add(target, value, call.operands.size() < 2 || is_uniform(*call.operands[1]));
      }
      reduce_to_memory(operation.c_str(), target, value);
    });
    return nullptr;
  }
  return old_of_atomic(operation.c_str(), target, place, value);
}

llvm::Value* DeviceGenerator::old_of_atomic(const char* operation, const Element& element,
                                            const Expression& place, llvm::Value* value) {
  llvm::AllocaInst* slot = new_slot(llvm_type(element.type), "old");
  builder_.CreateStore(zero(element.type), slot);
  when_in_range(element, place, true, [&] {
    llvm::Value* address = builder_.CreatePtrToInt(element.address, builder_.getInt64Ty());
    llvm::Value* old = assembly("atom." + std::string(space_of(element.memory)) +
                                    operation_of(operation, element.type) + " $0, [$1], $2;",
                                llvm_type(element.type), {address, value}, Effect::memory);
    builder_.CreateStore(old, slot);
  });
  return builder_.CreateLoad(llvm_type(element.type), slot);
}

bool DeviceGenerator::add_atomically(const Element& element, const Expression& place, llvm::Value* addend,
                                     bool wanted, llvm::Value*& old) {
  if (wanted) {
    old = old_of_atomic("add", element, place, addend);
  } else {
    when_in_range(element, place, true, [&] { reduce_to_memory("add", element, addend); });
  }
  return true;
}

void DeviceGenerator::reduce_to_memory(const char* operation, const Element& element, llvm::Value* value) {
  llvm::Value* address = builder_.CreatePtrToInt(element.address, builder_.getInt64Ty());
  assembly(
      "red." + std::string(space_of(element.memory)) + operation_of(operation, element.type) + " [$0], $1;",
      builder_.getVoidTy(), {address, value}, Effect::memory);
}

/// The sum over the lanes that are here, added once by the lowest of them.
void DeviceGenerator::aggregated_add(const Element& element, llvm::Value* addend, bool uniform_addend) {
  llvm::Value* mask = active_mask_here();
  llvm::Value* total = nullptr;
  if (uniform_addend) {
    llvm::Value* lanes = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, mask);
    total = builder_.CreateMul(addend, builder_.CreateZExt(lanes, addend->getType()));
  } else {
    total = sum_over(mask, addend);
  }
  llvm::BasicBlock* elected = new_block("elected");
  llvm::BasicBlock* end = new_block("added");
  builder_.CreateCondBr(is_lowest_of(mask), elected, end);
  builder_.SetInsertPoint(elected);
  reduce_to_memory("add", element, total);
  builder_.CreateBr(end);
  builder_.SetInsertPoint(end);
}

llvm::Value* DeviceGenerator::sum_over(llvm::Value* mask, llvm::Value* addend) {
  if (sm_ < 80) return sum_by_shuffles(mask, addend);
  require(80, 70);
  return sum_by_redux(mask, addend);
}

/// redux.sync adds 32 bits. A 64-bit addend is cut into limbs of 27 bits, whose sum over 32 lanes fits 32.
llvm::Value* DeviceGenerator::sum_by_redux(llvm::Value* mask, llvm::Value* addend) {
  llvm::Type* word_type = builder_.getInt32Ty();
  const auto reduce = [&](llvm::Value* value) {
    return assembly("redux.sync.add.u32 $0, $1, $2;", word_type, {value, mask}, Effect::convergent);
  };
  if (addend->getType()->isIntegerTy(32)) return reduce(addend);
  constexpr unsigned limb_bits = 27;
  llvm::Value* total = nullptr;
  for (unsigned shift = 0; shift < 64; shift += limb_bits) {
    llvm::Value* limb = builder_.CreateTrunc(builder_.CreateLShr(addend, shift), word_type);
    limb = builder_.CreateAnd(limb, (1u << limb_bits) - 1);
    llvm::Value* part = builder_.CreateShl(wide(reduce(limb)), shift);
    total = total == nullptr ? part : builder_.CreateAdd(total, part);
  }
  return total;
}

/// Before sm_80: every lane of the mask gives its addend to all of them. Any mask is right.
llvm::Value* DeviceGenerator::sum_by_shuffles(llvm::Value* mask, llvm::Value* addend) {
  return gathered(mask, addend, llvm::ConstantInt::get(addend->getType(), 0),
                  [&](llvm::Value* total, llvm::Value* other) { return builder_.CreateAdd(total, other); });
}

llvm::Value* DeviceGenerator::shuffled(llvm::Value* value, llvm::Value* lane, llvm::Value* mask) {
  llvm::Type* word_type = builder_.getInt32Ty();
  const auto shuffle = [&](llvm::Value* word) {
    return assembly("shfl.sync.idx.b32 $0, $1, $2, 31, $3;", word_type, {word, lane, mask},
                    Effect::convergent);
  };
  if (value->getType()->isIntegerTy(32)) return shuffle(value);
  llvm::Value* low = wide(shuffle(builder_.CreateTrunc(value, word_type)));
  llvm::Value* high = wide(shuffle(builder_.CreateTrunc(builder_.CreateLShr(value, 32), word_type)));
  return builder_.CreateOr(low, builder_.CreateShl(high, 32));
}

}  // namespace lynxpp::cod
