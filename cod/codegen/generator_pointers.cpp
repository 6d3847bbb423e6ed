// Lowers pointers (FunctionGenerator).
#include "cod/codegen/function_generator.h"

namespace lynxpp::cod {
namespace {

/// Returns the scalars of a variable, in order.
std::vector<const Symbol*> leaves_of(const Symbol& symbol) {
  std::vector<const Symbol*> leaves;
  for_each_part(symbol, [&](const Symbol& part) {
    if (part.kind != Symbol::Kind::record) leaves.push_back(&part);
  });
  return leaves;
}

}  // namespace

llvm::StructType* FunctionGenerator::pointer_type(std::uint64_t scalars) {
  return llvm::StructType::get(context_, {llvm::ArrayType::get(ir_.getPtrTy(), scalars), ir_.getInt64Ty(),
                                          ir_.getInt64Ty(), ir_.getInt1Ty()});
}

llvm::Value* FunctionGenerator::part_of(llvm::Value* pointer, PointerPart part) {
  return ir_.CreateExtractValue(pointer, {part});
}

llvm::Value* FunctionGenerator::moved(Operator op, llvm::Value* pointer, llvm::Value* distance) {
  llvm::Value* start = part_of(pointer, index);
  llvm::Value* end =
      op == Operator::subtract ? ir_.CreateSub(start, distance) : ir_.CreateAdd(start, distance);
  return ir_.CreateInsertValue(pointer, end, {index});
}

/// `&place`. Not checked here but where the pointer is used.
llvm::Value* FunctionGenerator::address(const Expression& place) {
  set_up(place);
  const Symbol& symbol = *place.symbol;
  const std::vector<const Symbol*> leaves = leaves_of(symbol);
  const Symbol& first = *leaves.front();
  const bool is_indirect = symbol.pointer != nullptr;
  llvm::Value* start = is_indirect ? load_slot(slot_of(*symbol.pointer, false), Type::pointer) : nullptr;
  llvm::Value* elements = is_indirect ? part_of(start, count) : i64(1);
  llvm::Value* position =
      is_indirect ? ir_.CreateAdd(part_of(start, index), expression_as(*place.operands[0], Type::i64))
                  : i64(0);
  for (std::size_t i = is_indirect ? 1 : 0; i < place.operands.size(); ++i) {
    const Dimension& dimension = symbol.dimensions[i];
    llvm::Value* extent =
        dimension.extent == Extent::constant ? i64(dimension.constant) : extent_value(dimension.extent);
    elements = ir_.CreateMul(elements, extent);
    position = ir_.CreateMul(position, extent);
    position = ir_.CreateAdd(position, expression_as(*place.operands[i], Type::i64));
  }
  const bool is_shared_array = first.kind == Symbol::Kind::array && (first.memory == Symbol::Memory::global ||
                                                                     first.memory == Symbol::Memory::shared);
  llvm::Value* result = llvm::PoisonValue::get(pointer_type(leaves.size()));
  for (unsigned i = 0; i < leaves.size(); ++i) {
    const Symbol& leaf = *leaves[i];
    llvm::Value* base = is_indirect                        ? ir_.CreateExtractValue(start, {bases, leaf.leaf})
                        : leaf.kind == Symbol::Kind::array ? base_of(leaf, true)
                                                           : slot_of(leaf, true);
    result = ir_.CreateInsertValue(result, ir_.CreateAddrSpaceCast(base, ir_.getPtrTy()), {bases, i});
  }
  result = ir_.CreateInsertValue(result, elements, {count});
  result = ir_.CreateInsertValue(result, position, {index});
  return ir_.CreateInsertValue(
      result, is_indirect ? part_of(start, is_shareable) : ir_.getInt1(is_shared_array), {is_shareable});
}

/// The target of a pointer. A null pointer's array has no elements, so every access through it is out of
/// range.
FunctionGenerator::Element FunctionGenerator::indirect_element(const Expression& place) {
  const Symbol& symbol = *place.symbol;
  llvm::Value* start = load_slot(slot_of(*symbol.pointer, false), Type::pointer);
  Element result;
  result.memory = symbol.memory;
  result.type = symbol.type;
  result.is_shareable = part_of(start, is_shareable);
  llvm::Value* position = ir_.CreateAdd(part_of(start, index), expression_as(*place.operands[0], Type::i64));
  result.in_range = ir_.CreateICmpULT(position, part_of(start, count));
  for (std::size_t i = 1; i < symbol.dimensions.size(); ++i)
    position = ir_.CreateMul(position, i64(symbol.dimensions[i].constant));
  const CheckedOffset inner = checked_offset(symbol.dimensions, place, 1);
  if (inner.in_range != nullptr) result.in_range = ir_.CreateAnd(result.in_range, inner.in_range);
  llvm::Value* base = ir_.CreateExtractValue(start, {bases, symbol.leaf});
  result.address = ir_.CreateGEP(storage_type(symbol.type), base, ir_.CreateAdd(position, inner.offset));
  return result;
}

/// `p->n op= x`, ++ and --: atomic if other threads can access the target of `p`, as for the array itself.
llvm::Value* FunctionGenerator::update_through_pointer(const Element& place, const Expression& target,
                                                       bool yields_old, const Update& update) {
  return either(
      place.is_shareable, [&] { return swap_until_unchanged(place, target, yields_old, update); },
      [&] {
        llvm::Value* old = load(place, target, false);
        llvm::Value* changed = update(old);
        store(place, changed, target);
        return yields_old ? old : changed;
      });
}

/// Comparisons and differences. Pointers into one array have the same bases, regardless of how they were
/// derived.
llvm::Value* FunctionGenerator::pointer_binary(const Expression& expression) {
  const Expression& left_side = *expression.operands[0];
  const Expression& right_side = *expression.operands[1];
  llvm::Value* left = this->expression(left_side);
  llvm::Value* right = this->expression(right_side);
  llvm::Value* left_index = part_of(left, index);
  llvm::Value* right_index = part_of(right, index);
  if (expression.op == Operator::subtract) return ir_.CreateSub(left_index, right_index);
  llvm::Value* left_base = ir_.CreateExtractValue(left, {bases, 0});
  llvm::Value* right_base = ir_.CreateExtractValue(right, {bases, 0});
  llvm::Value* same_array = ir_.CreateICmpEQ(left_base, right_base);
  llvm::Value* result = nullptr;
  if (expression.op == Operator::equal || expression.op == Operator::not_equal) {
    llvm::Value* same_index = ir_.CreateICmpEQ(left_index, right_index);
    const bool is_left_null = left_side.kind == ExpressionKind::null;
    const bool is_null_test = is_left_null || right_side.kind == ExpressionKind::null;
    result = is_null_test ? ir_.CreateNot(points_somewhere(is_left_null ? right : left))
                          : ir_.CreateAnd(same_array, same_index);
    if (expression.op == Operator::not_equal) result = ir_.CreateNot(result);
  } else {
    llvm::Value* in_array = compare(expression.op, left_index, right_index, Type::i64);
    llvm::Value* left_bits = ir_.CreatePtrToInt(left_base, ir_.getInt64Ty());
    llvm::Value* right_bits = ir_.CreatePtrToInt(right_base, ir_.getInt64Ty());
    llvm::Value* of_arrays = compare(expression.op, left_bits, right_bits, Type::u64);
    result = ir_.CreateSelect(same_array, in_array, of_arrays);
  }
  return ir_.CreateZExt(result, ir_.getInt32Ty());
}

llvm::Value* FunctionGenerator::points_somewhere(llvm::Value* pointer) {
  return ir_.CreateIsNotNull(part_of(pointer, count));
}

}  // namespace lynxpp::cod
