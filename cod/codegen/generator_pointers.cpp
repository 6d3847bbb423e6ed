// Lowers pointers (FunctionGenerator).
#include "cod/codegen/function_generator.h"

namespace lynxpp::cod {
namespace {

/// Appends the scalars of a variable, in order.
void append_leaves(const Symbol& symbol, std::vector<const Symbol*>& leaves) {
  if (symbol.kind != Symbol::Kind::record) leaves.push_back(&symbol);
  for (const auto& [name, field] : symbol.fields) append_leaves(*field, leaves);
}

std::vector<const Symbol*> leaves_of(const Symbol& symbol) {
  std::vector<const Symbol*> leaves;
  append_leaves(symbol, leaves);
  return leaves;
}

}  // namespace

FunctionGenerator::Pointer FunctionGenerator::null_pointer() { return {{}, i64(0), i64(0), ir_.getFalse()}; }

FunctionGenerator::Pointer FunctionGenerator::pointer(const Expression& expression) {
  switch (expression.kind) {
    case ExpressionKind::name: return load_pointer(*expression.symbol);
    case ExpressionKind::unary: return address(*expression.operands[0]);
    case ExpressionKind::binary: {
      const Pointer start = pointer(*expression.operands[0]);
      llvm::Value* distance = expression_as(*expression.operands[1], Type::i64);
      return moved(start, expression.op == Operator::subtract ? ir_.CreateNeg(distance) : distance);
    }
    case ExpressionKind::assign: return pointer_assignment(expression);
    case ExpressionKind::conditional: return pointer_choice(expression);
    case ExpressionKind::cast: return pointer(*expression.operands[0]);
    case ExpressionKind::comma:
      for (std::size_t i = 0; i + 1 < expression.operands.size(); ++i)
        static_cast<void>(this->expression(*expression.operands[i]));
      return pointer(*expression.operands.back());
    case ExpressionKind::call: {
      Frame frame;
      expand(expression, frame);
      return load_pointer(*frame.variable);
    }
    default: return null_pointer();
  }
}

FunctionGenerator::Pointer FunctionGenerator::moved(Pointer pointer, llvm::Value* distance) {
  pointer.index = ir_.CreateAdd(pointer.index, distance);
  return pointer;
}

/// `&place`
FunctionGenerator::Pointer FunctionGenerator::address(const Expression& place) {
  set_up(place);
  const Symbol& symbol = *place.symbol;
  const bool is_indirect = symbol.pointer != nullptr;
  const std::vector<const Symbol*> leaves = leaves_of(symbol);
  Pointer result;
  Element unchecked;  // checked where the pointer is used
  if (is_indirect) {
    const Pointer start = load_pointer(*symbol.pointer);
    for (const Symbol* leaf : leaves) result.bases.push_back(start.bases[leaf->leaf]);
    result.count = start.count;
    result.index = ir_.CreateAdd(start.index, expression_as(*place.operands[0], Type::i64));
    result.is_shareable = start.is_shareable;
  } else {
    const Symbol::Memory memory = leaves.front()->memory;
    for (const Symbol* leaf : leaves) {
      llvm::Value* base = leaf->kind == Symbol::Kind::array ? base_of(*leaf, true) : slot_of(*leaf, true);
      result.bases.push_back(ir_.CreateAddrSpaceCast(base, ir_.getPtrTy()));
    }
    const bool is_array = leaves.front()->kind == Symbol::Kind::array;
    result.count = i64(1);
    result.index = i64(0);
    result.is_shareable =
        ir_.getInt1(is_array && (memory == Symbol::Memory::global || memory == Symbol::Memory::shared));
  }
  const std::size_t first = is_indirect ? 1 : 0;
  for (std::size_t i = first; i < place.operands.size(); ++i) {
    const Dimension& dimension = symbol.dimensions[i];
    llvm::Value* extent =
        dimension.extent == Extent::constant ? i64(dimension.constant) : extent_value(dimension.extent);
    result.count = ir_.CreateMul(result.count, extent);
    result.index = ir_.CreateMul(result.index, extent);
    result.index = ir_.CreateAdd(result.index, expression_as(*place.operands[i], Type::i64));
  }
  return result;
}

FunctionGenerator::Pointer FunctionGenerator::pointer_assignment(const Expression& expression) {
  const Symbol& target = *expression.operands[0]->symbol;
  const Expression& value = *expression.operands[1];
  Pointer old, assigned;
  if (expression.op == Operator::none) {
    assigned = pointer(value);
  } else {
    llvm::Value* distance = expression_as(value, Type::i64);
    old = load_pointer(target);
    assigned = moved(old, expression.op == Operator::subtract ? ir_.CreateNeg(distance) : distance);
  }
  store_pointer(target, assigned);
  return expression.yields_old ? old : assigned;
}

/// `condition ? pointer : pointer`
FunctionGenerator::Pointer FunctionGenerator::pointer_choice(const Expression& expression) {
  auto chosen = alternatives(expression, [&](const Expression& operand) { return pointer(operand); });
  Pointer& left = chosen.left;
  Pointer& right = chosen.right;
  llvm::Constant* null = llvm::Constant::getNullValue(ir_.getPtrTy());
  left.bases.resize(std::max(left.bases.size(), right.bases.size()), null);
  right.bases.resize(left.bases.size(), null);
  Pointer result;
  for (std::size_t i = 0; i < left.bases.size(); ++i)
    result.bases.push_back(chosen.merged(ir_, left.bases[i], right.bases[i]));
  result.count = chosen.merged(ir_, left.count, right.count);
  result.index = chosen.merged(ir_, left.index, right.index);
  result.is_shareable = chosen.merged(ir_, left.is_shareable, right.is_shareable);
  return result;
}

// ---------------------------------------------------------------- variables

/// Null from the start, as scalars are zero.
FunctionGenerator::PointerSlots& FunctionGenerator::pointer_slots(const Symbol& symbol) {
  PointerSlots& slots = pointer_slots_[&symbol];
  if (slots.count != nullptr) return slots;
  const auto slot = [&](llvm::Type* type) {
    llvm::AllocaInst* made = new_slot(type, symbol.name);
    llvm::IRBuilder<>(entry_).CreateStore(llvm::Constant::getNullValue(type), made);
    return made;
  };
  slots.bases.resize(leaves_of(*symbol.target).size());
  for (llvm::AllocaInst*& base : slots.bases) base = slot(ir_.getPtrTy());
  slots.count = slot(ir_.getInt64Ty());
  slots.index = slot(ir_.getInt64Ty());
  slots.is_shareable = slot(ir_.getInt1Ty());
  return slots;
}

FunctionGenerator::Pointer FunctionGenerator::load_pointer(const Symbol& symbol) {
  const PointerSlots& slots = pointer_slots(symbol);
  Pointer result;
  for (llvm::AllocaInst* base : slots.bases) result.bases.push_back(ir_.CreateLoad(ir_.getPtrTy(), base));
  result.count = ir_.CreateLoad(ir_.getInt64Ty(), slots.count);
  result.index = ir_.CreateLoad(ir_.getInt64Ty(), slots.index);
  result.is_shareable = ir_.CreateLoad(ir_.getInt1Ty(), slots.is_shareable);
  return result;
}

void FunctionGenerator::store_pointer(const Symbol& symbol, const Pointer& pointer) {
  const PointerSlots& slots = pointer_slots(symbol);
  for (std::size_t i = 0; i < slots.bases.size(); ++i) {
    llvm::Value* base =
        i < pointer.bases.size() ? pointer.bases[i] : llvm::Constant::getNullValue(ir_.getPtrTy());
    ir_.CreateStore(base, slots.bases[i]);
  }
  ir_.CreateStore(pointer.count, slots.count);
  ir_.CreateStore(pointer.index, slots.index);
  ir_.CreateStore(pointer.is_shareable, slots.is_shareable);
}

// ---------------------------------------------------------------- uses

/// The target of a pointer. A null pointer's array has no elements, so every access through it is out of
/// range.
FunctionGenerator::Element FunctionGenerator::indirect_element(const Expression& place) {
  const Symbol& symbol = *place.symbol;
  const Pointer start = load_pointer(*symbol.pointer);
  Element result;
  result.memory = symbol.memory;
  result.type = symbol.type;
  result.is_shareable = start.is_shareable;
  llvm::Value* index = ir_.CreateAdd(start.index, expression_as(*place.operands[0], Type::i64));
  result.in_range = ir_.CreateICmpULT(index, start.count);
  for (std::size_t i = 1; i < symbol.dimensions.size(); ++i)
    index = ir_.CreateMul(index, i64(symbol.dimensions[i].constant));
  const CheckedOffset inner = checked_offset(symbol.dimensions, place, 1);
  if (inner.in_range != nullptr) result.in_range = ir_.CreateAnd(result.in_range, inner.in_range);
  llvm::Value* offset = ir_.CreateAdd(index, inner.offset);
  result.address = ir_.CreateGEP(storage_type(symbol.type), start.bases[symbol.leaf], offset);
  return result;
}

/// `p->n op= x`, ++ and --: atomic if other threads can access the target of `p`, as for the array itself.
llvm::Value* FunctionGenerator::update_through_pointer(const Element& place, const Expression& target,
                                                       bool yields_old, const Update& update) {
  llvm::AllocaInst* result = new_slot(llvm_type(place.type), "result");
  llvm::BasicBlock* seen_by_all = new_block("seen_by_all");
  llvm::BasicBlock* own = new_block("own");
  llvm::BasicBlock* end = new_block("updated");
  branch(place.is_shareable, seen_by_all, own);
  ir_.CreateStore(swap_until_unchanged(place, target, yields_old, update), result);
  ir_.CreateBr(end);
  ir_.SetInsertPoint(own);
  llvm::Value* old = load(place, target, false);
  llvm::Value* changed = update(old);
  store(place, changed, target);
  ir_.CreateStore(yields_old ? old : changed, result);
  go_to(end);
  return ir_.CreateLoad(llvm_type(place.type), result);
}

/// Comparisons and differences. Pointers into one array have the same bases, regardless of how they were
/// derived.
llvm::Value* FunctionGenerator::pointer_binary(const Expression& expression) {
  const Expression& left_side = *expression.operands[0];
  const Expression& right_side = *expression.operands[1];
  const Pointer left = pointer(left_side);
  const Pointer right = pointer(right_side);
  if (expression.op == Operator::subtract) return ir_.CreateSub(left.index, right.index);
  const auto base = [&](const Pointer& each) -> llvm::Value* {
    return each.bases.empty() ? llvm::Constant::getNullValue(ir_.getPtrTy()) : each.bases.front();
  };
  llvm::Value* same_array = ir_.CreateICmpEQ(base(left), base(right));
  llvm::Value* result = nullptr;
  if (expression.op == Operator::equal || expression.op == Operator::not_equal) {
    llvm::Value* same_index = ir_.CreateICmpEQ(left.index, right.index);
    const bool is_left_null = left_side.kind == ExpressionKind::null;
    const bool is_null_test = is_left_null || right_side.kind == ExpressionKind::null;
    result = is_null_test ? ir_.CreateNot(points_somewhere(is_left_null ? right : left))
                          : ir_.CreateAnd(same_array, same_index);
    if (expression.op == Operator::not_equal) result = ir_.CreateNot(result);
  } else {
    llvm::Value* in_array = compare(expression.op, left.index, right.index, Type::i64);
    llvm::Value* left_bits = ir_.CreatePtrToInt(base(left), ir_.getInt64Ty());
    llvm::Value* right_bits = ir_.CreatePtrToInt(base(right), ir_.getInt64Ty());
    llvm::Value* of_arrays = compare(expression.op, left_bits, right_bits, Type::u64);
    result = ir_.CreateSelect(same_array, in_array, of_arrays);
  }
  return ir_.CreateZExt(result, ir_.getInt32Ty());
}

llvm::Value* FunctionGenerator::points_somewhere(const Pointer& pointer) {
  return ir_.CreateIsNotNull(pointer.count);
}

}  // namespace lynxpp::cod
