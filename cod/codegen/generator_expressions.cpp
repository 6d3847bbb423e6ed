// Lowers expressions (FunctionGenerator).
#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "cod/codegen/function_generator.h"

namespace lynxpp::cod {
namespace {

/// True if adding the value, converted to the element's type, yields the result of C's `+=`.
bool is_addable(Type element, Type value) {
  if (bytes_of(element) < 4 || element == Type::boolean) return false;
  return is_floating(element) ? common_type(element, value) == element : is_integer(value);
}

/// The number of scalars that a value of the type consists of.
std::uint64_t scalars_of(const SyntaxTree& tree, Type type, const std::string& structure) {
  if (type != Type::structure) return 1;
  std::uint64_t count = 0;
  for (const Field& field : std::ranges::find(tree.structures, structure, &Structure::name)->fields)
    count += scalars_of(tree, field.type, field.structure);
  return count;
}

}  // namespace

llvm::Type* FunctionGenerator::llvm_type(Type type) {
  if (type == Type::f32) return ir_.getFloatTy();
  if (type == Type::f64) return ir_.getDoubleTy();
  return is_arithmetic(type) ? static_cast<llvm::Type*>(ir_.getIntNTy(bits_of(type))) : ir_.getVoidTy();
}

llvm::Type* FunctionGenerator::storage_type(Type type) {
  return type == Type::boolean ? static_cast<llvm::Type*>(ir_.getInt8Ty()) : llvm_type(type);
}

llvm::Type* FunctionGenerator::storage_type(const FullType& type) {
  if (type.type != Type::pointer) return storage_type(type.type);
  return pointer_type(scalars_of(program_.tree, type.pointee, type.structure));
}

llvm::Constant* FunctionGenerator::zero(Type type) { return llvm::Constant::getNullValue(llvm_type(type)); }

llvm::Value* FunctionGenerator::convert(llvm::Value* value, Type from, Type to) {
  if (from == to || value == nullptr || !is_arithmetic(to)) return value;
  llvm::Type* type = llvm_type(to);
  if (to == Type::boolean)
    return is_floating(from) ? ir_.CreateFCmpUNE(value, zero(from)) : ir_.CreateICmpNE(value, zero(from));
  if (is_floating(from)) {
    if (is_floating(to)) return ir_.CreateFPCast(value, type);
    const auto saturate = is_signed(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return ir_.CreateIntrinsic(saturate, {type, value->getType()}, {value});
  }
  if (is_floating(to)) return is_signed(from) ? ir_.CreateSIToFP(value, type) : ir_.CreateUIToFP(value, type);
  return ir_.CreateIntCast(value, type, is_signed(from));
}

/// Computed on the bits, so that flushing and comparison do not depend on the target.
llvm::Value* FunctionGenerator::floating_call(const Expression& call) {
  const Expression& argument = *call.operands[0];
  if (call.api->arguments == ApiArguments::bits) {
    const bool is_half = call.api->api == Api::as_half;
    llvm::Type* as_is = is_half ? ir_.getHalfTy() : llvm_type(call.type);
    const unsigned width = is_half ? 16 : call.type == Type::f64 ? 64 : 32;
    llvm::Value* bits =
        ir_.CreateIntCast(expression(argument), ir_.getIntNTy(width), is_signed(argument.type));
    if (call.api->api == Api::as_bfloat16) bits = ir_.CreateShl(bits, 16);
    return ir_.CreateFPCast(ir_.CreateBitCast(bits, as_is), llvm_type(call.type));
  }
  const bool is_double = argument.type == Type::f64;
  llvm::Type* type = is_double ? ir_.getInt64Ty() : ir_.getInt32Ty();
  const std::uint64_t infinity = is_double ? 0x7ff0000000000000u : 0x7f800000u;
  const std::uint64_t least_normal = is_double ? 0x0010000000000000u : 0x00800000u;
  llvm::Value* bits = ir_.CreateBitCast(expression(argument), type);
  llvm::Value* magnitude =
      ir_.CreateAnd(bits, llvm::ConstantInt::get(type, is_double ? ~0ull >> 1 : 0x7fffffffu));
  const auto number = [&](std::uint64_t value) { return llvm::ConstantInt::get(type, value); };
  llvm::Value* holds = nullptr;
  switch (call.api->api) {
    case Api::is_nan: holds = ir_.CreateICmpUGT(magnitude, number(infinity)); break;
    case Api::is_inf: holds = ir_.CreateICmpEQ(magnitude, number(infinity)); break;
    default:  // 0 wraps around
      holds = ir_.CreateICmpULT(ir_.CreateSub(magnitude, number(1)), number(least_normal - 1));
  }
  return ir_.CreateZExt(holds, ir_.getInt32Ty());
}

llvm::Value* FunctionGenerator::expression_as(const Expression& expression, Type type) {
  return convert(this->expression(expression), expression.type, type);
}

llvm::Value* FunctionGenerator::truth(const Expression& expression) {
  if (expression.type == Type::pointer) return points_somewhere(this->expression(expression));
  return expression_as(expression, Type::boolean);
}

llvm::Value* FunctionGenerator::expression(const Expression& expression) {
  switch (expression.kind) {
    case ExpressionKind::integer:
    case ExpressionKind::size:
    case ExpressionKind::floating: return literal(expression);
    case ExpressionKind::null: return llvm::Constant::getNullValue(storage_type(expression));
    case ExpressionKind::string:
    case ExpressionKind::postfix:
    case ExpressionKind::member: return nullptr;  // sema has turned them into other kinds
    case ExpressionKind::comma: {
      llvm::Value* last = nullptr;
      for (const ExpressionPtr& each : expression.operands) last = this->expression(*each);
      return last;
    }
    case ExpressionKind::name: return name(expression);
    case ExpressionKind::unary: return unary(expression);
    case ExpressionKind::binary: return binary(expression);
    case ExpressionKind::assign: return assignment(expression);
    case ExpressionKind::conditional: return conditional(expression);
    case ExpressionKind::cast: return expression_as(*expression.operands[0], expression.type);
    case ExpressionKind::call:
      return expression.api != nullptr ? call_api(expression) : helper_call(expression);
    case ExpressionKind::index:
      if (expression.type == Type::structure) {
        set_up(expression);  // an expression statement: the value is unused
        return nullptr;
      }
      return load(element(expression, false), expression, true);
  }
  return nullptr;
}

llvm::Value* FunctionGenerator::literal(const Expression& expression) {
  if (expression.kind == ExpressionKind::floating)
    return llvm::ConstantFP::get(llvm_type(expression.type), expression.real);
  return llvm::ConstantInt::get(llvm_type(expression.type), expression.value, is_signed(expression.type));
}

llvm::Value* FunctionGenerator::name(const Expression& expression) {
  if (expression.extent != 0) return extent_value(static_cast<Extent>(expression.extent - 1));
  const Symbol& symbol = *expression.symbol;
  if (symbol.kind == Symbol::Kind::constant) {
    if (is_floating(symbol.type)) return llvm::ConstantFP::get(llvm_type(symbol.type), symbol.real);
    return llvm::ConstantInt::get(llvm_type(symbol.type), symbol.value, is_signed(symbol.type));
  }
  set_up(expression);
  return load_slot(slot_of(symbol, false), symbol.type);
}

llvm::Value* FunctionGenerator::unary(const Expression& expression) {
  const Expression& operand = *expression.operands[0];
  switch (expression.op) {
    case Operator::address_of: return address(operand);
    case Operator::logical_not: return ir_.CreateZExt(ir_.CreateNot(truth(operand)), ir_.getInt32Ty());
    case Operator::complement: return ir_.CreateNot(expression_as(operand, expression.type));
    case Operator::minus: {
      llvm::Value* value = expression_as(operand, expression.type);
      return is_floating(expression.type) ? ir_.CreateFNeg(value) : ir_.CreateNeg(value);
    }
    default: return expression_as(operand, expression.type);
  }
}

llvm::Value* FunctionGenerator::binary(const Expression& expression) {
  if (expression.op == Operator::logical_and || expression.op == Operator::logical_or)
    return logical(expression);
  const Expression& left = *expression.operands[0];
  const Expression& right = *expression.operands[1];
  if (left.type == Type::pointer && expression.type != Type::pointer) return pointer_binary(expression);
  llvm::Value* value = this->expression(left);
  return combine(expression.op, value, left.type, this->expression(right), right.type, expression.type,
                 expression);
}

/// Computes `left op right` with C's conversions, as `result`.
llvm::Value* FunctionGenerator::combine(Operator op, llvm::Value* left, Type left_type, llvm::Value* right,
                                        Type right_type, Type result, const Expression& place) {
  if (left_type == Type::pointer) return moved(op, left, convert(right, right_type, Type::i64));
  if (is_shift(op)) return convert(shift(op, left, right, left_type, right_type), promote(left_type), result);
  const Type type = common_type(left_type, right_type);
  llvm::Value* converted = convert(left, left_type, type);
  llvm::Value* other = convert(right, right_type, type);
  if (is_comparison(op)) return ir_.CreateZExt(compare(op, converted, other, type), ir_.getInt32Ty());
  return convert(arithmetic(op, converted, other, type, place), type, result);
}

llvm::Value* FunctionGenerator::logical(const Expression& expression) {
  const bool is_and = expression.op == Operator::logical_and;
  const Expression& second = *expression.operands[1];
  llvm::Value* left = truth(*expression.operands[0]);
  if (asks_about_lanes(second)) left = join_lanes(left);
  llvm::Value* result =
      value_where(is_and ? left : ir_.CreateNot(left), ir_.getInt1(!is_and), [&] { return truth(second); });
  return ir_.CreateZExt(result, ir_.getInt32Ty());
}

llvm::Value* FunctionGenerator::conditional(const Expression& expression) {
  const Expression& left = *expression.operands[1];
  const Expression& right = *expression.operands[2];
  llvm::Value* condition = truth(*expression.operands[0]);
  if (asks_about_lanes(left) || asks_about_lanes(right)) condition = join_lanes(condition);
  return either(
      condition, [&] { return expression_as(left, expression.type); },
      [&] { return expression_as(right, expression.type); });
}

/// The value that `expression` assigns to a target with the value `old`.
llvm::Value* FunctionGenerator::assigned_value(const Expression& expression, llvm::Value* old) {
  const Expression& value = *expression.operands[1];
  const Type type = expression.operands[0]->type;
  if (expression.op == Operator::none) return expression_as(value, type);
  return combine(expression.op, old, type, this->expression(value), value.type, type, expression);
}

llvm::Value* FunctionGenerator::assignment(const Expression& expression) {
  const Expression& target = *expression.operands[0];
  const Type type = target.type;
  if (target.kind != ExpressionKind::index) {
    const bool is_plain = expression.op == Operator::none;
    llvm::Value* old = is_plain ? nullptr : load_slot(slot_of(*target.symbol, false), type);
    llvm::Value* assigned = assigned_value(expression, old);
    store_slot(slot_of(*target.symbol, true), assigned, type);
    return expression.yields_old ? old : assigned;
  }
  return element_assignment(expression);
}

llvm::Value* FunctionGenerator::element_assignment(const Expression& expression) {
  const Expression& target = *expression.operands[0];
  const Expression& value = *expression.operands[1];
  const Symbol& array = *target.symbol;
  const bool is_unread = array.memory == Symbol::Memory::shared && program_.variables[array.index].bytes == 0;
  if (is_unread) {
    // The elements are never read; only the assigned values matter.
    llvm::Value* assigned = expression_as(value, target.type);
    if (!expression.conditional) note_assignment(array, assigned);
    return assigned;
  }
  const Element place = element(target);
  const bool is_pointed_to = place.is_shareable != nullptr && has_threads();
  if (expression.op != Operator::none && (is_pointed_to || updates_atomically(target))) {
    const bool is_sum = expression.op == Operator::add || expression.op == Operator::subtract;
    if (!is_pointed_to && is_sum && is_addable(target.type, value.type))
      return add_atomically(place, target, value, expression.op == Operator::subtract,
                            expression.discarded    ? Wanted::nothing
                            : expression.yields_old ? Wanted::old_value
                                                    : Wanted::new_value);
    llvm::Value* right = this->expression(value);
    const Update update = [&](llvm::Value* old) {
      return combine(expression.op, old, target.type, right, value.type, target.type, expression);
    };
    return is_pointed_to ? update_through_pointer(place, target, expression.yields_old, update)
                         : swap_until_unchanged(place, target, expression.yields_old, update);
  }
  const bool is_plain = expression.op == Operator::none;
  llvm::Value* old = is_plain ? nullptr : load(place, target, false);
  llvm::Value* assigned = assigned_value(expression, old);
  store(place, assigned, target);
  if (is_plain && !expression.conditional) note_assignment(array, assigned);
  return expression.yields_old ? old : assigned;
}

// ---------------------------------------------------------------- arithmetic

llvm::Value* FunctionGenerator::compare(Operator op, llvm::Value* left, llvm::Value* right, Type type) {
  using enum llvm::CmpInst::Predicate;
  /// By operator, from Operator::less: of signed, unsigned and floating-point values.
  static constexpr llvm::CmpInst::Predicate predicates[][3] = {
      {ICMP_SLT, ICMP_ULT, FCMP_OLT}, {ICMP_SGT, ICMP_UGT, FCMP_OGT}, {ICMP_SLE, ICMP_ULE, FCMP_OLE},
      {ICMP_SGE, ICMP_UGE, FCMP_OGE}, {ICMP_EQ, ICMP_EQ, FCMP_OEQ},   {ICMP_NE, ICMP_NE, FCMP_UNE}};
  const auto& row = predicates[static_cast<int>(op) - static_cast<int>(Operator::less)];
  return ir_.CreateCmp(row[is_floating(type) ? 2 : is_signed(type) ? 0 : 1], left, right);
}

llvm::Value* FunctionGenerator::arithmetic(Operator op, llvm::Value* left, llvm::Value* right, Type type,
                                           const Expression& place) {
  const bool floating = is_floating(type);
  switch (op) {
    case Operator::add: return floating ? ir_.CreateFAdd(left, right) : ir_.CreateAdd(left, right);
    case Operator::subtract: return floating ? ir_.CreateFSub(left, right) : ir_.CreateSub(left, right);
    case Operator::multiply: return floating ? ir_.CreateFMul(left, right) : ir_.CreateMul(left, right);
    case Operator::divide:
      return floating ? ir_.CreateFDiv(left, right) : divide(op, left, right, type, place);
    case Operator::remainder: return divide(op, left, right, type, place);
    case Operator::bit_and: return ir_.CreateAnd(left, right);
    case Operator::bit_or: return ir_.CreateOr(left, right);
    case Operator::bit_xor: return ir_.CreateXor(left, right);
    default: return left;
  }
}

llvm::Value* FunctionGenerator::divide(Operator op, llvm::Value* left, llvm::Value* right, Type type,
                                       const Expression& place) {
  const bool is_quotient = op == Operator::divide;
  llvm::Value* is_zero = ir_.CreateICmpEQ(right, zero(type));
  division_by_zero(is_zero, place);
  llvm::Constant* one = llvm::ConstantInt::get(llvm_type(type), 1);
  llvm::Value* safe = ir_.CreateSelect(is_zero, one, right);
  llvm::Value* result = nullptr;
  if (is_signed(type)) {
    // The minimum divided by -1 overflows; it wraps.
    llvm::Value* is_minus_one = ir_.CreateICmpEQ(right, llvm::Constant::getAllOnesValue(llvm_type(type)));
    safe = ir_.CreateSelect(is_minus_one, one, safe);
    result = is_quotient ? ir_.CreateSDiv(left, safe) : ir_.CreateSRem(left, safe);
    llvm::Value* special = is_quotient ? ir_.CreateNeg(left) : zero(type);
    result = ir_.CreateSelect(is_minus_one, special, result);
  } else {
    result = is_quotient ? ir_.CreateUDiv(left, safe) : ir_.CreateURem(left, safe);
  }
  return ir_.CreateSelect(is_zero, zero(type), result);
}

llvm::Value* FunctionGenerator::shift(Operator op, llvm::Value* left, llvm::Value* right, Type left_type,
                                      Type right_type) {
  const Type type = promote(left_type);
  llvm::Value* value = convert(left, left_type, type);
  llvm::Value* count = convert(right, right_type, type);
  count = ir_.CreateAnd(count, llvm::ConstantInt::get(llvm_type(type), bits_of(type) - 1));
  if (op == Operator::shift_left) return ir_.CreateShl(value, count);
  return is_signed(type) ? ir_.CreateAShr(value, count) : ir_.CreateLShr(value, count);
}

// ---------------------------------------------------------------- arrays

bool FunctionGenerator::surely_in_range(const Expression&, const Dimension&) { return false; }

FunctionGenerator::CheckedOffset FunctionGenerator::checked_offset(const std::vector<Dimension>& dimensions,
                                                                   const Expression& index,
                                                                   std::size_t first) {
  CheckedOffset result{i64(0), nullptr};
  for (std::size_t i = first; i < dimensions.size(); ++i) {
    const Dimension& dimension = dimensions[i];
    const Expression& each = *index.operands[i];
    llvm::Value* position = expression_as(each, Type::u64);  // a negative index becomes a huge one
    llvm::Value* extent = nullptr;
    if (i > first || !surely_in_range(each, dimension)) {
      extent =
          dimension.extent == Extent::constant ? i64(dimension.constant) : extent_value(dimension.extent);
    }
    if (!surely_in_range(each, dimension)) {
      llvm::Value* inside = ir_.CreateICmpULT(position, extent);
      const auto* known = llvm::dyn_cast<llvm::ConstantInt>(inside);
      if (known == nullptr || known->isZero())
        result.in_range = result.in_range == nullptr ? inside : ir_.CreateAnd(result.in_range, inside);
    }
    result.offset = i == first ? position : ir_.CreateAdd(ir_.CreateMul(result.offset, extent), position);
  }
  return result;
}

FunctionGenerator::Element FunctionGenerator::element(const Expression& index, bool is_changed) {
  set_up(index);
  const Symbol& symbol = *index.symbol;
  if (symbol.memory == Symbol::Memory::indirect) return indirect_element(index);
  Element result;
  result.memory = symbol.memory;
  result.type = symbol.type;
  CheckedOffset at;
  if (symbol.is_in_map()) {
    at.offset = find_entry(index, *symbol.collection, is_changed);
    at.in_range = ir_.CreateICmpNE(at.offset, i64(~std::uint64_t{0}));
  } else {
    at = checked_offset(symbol.dimensions, index);
  }
  result.in_range = at.in_range;
  result.address = ir_.CreateGEP(storage_type(symbol.type), base_of(symbol, is_changed), at.offset);
  return result;
}

/// Returns the key as the words that Collection describes; none is zero except key 0 of 64 bits.
std::vector<llvm::Value*> FunctionGenerator::key_words(const Expression& index, const Collection& map) {
  const unsigned chunk = map.has_zero_slot() ? 64 : 63;
  std::vector<llvm::Value*> words(map.key_words.size(), i64(0));
  unsigned at = 0;
  for (std::size_t i = 0; i < map.key.size(); ++i) {
    const Type type = map.key[i].type;
    const unsigned bits = bytes_of(type) * 8;
    llvm::Value* value = expression_as(*index.operands[map.leading.size() + i], type);
    value = ir_.CreateZExt(value, ir_.getInt64Ty());
    const unsigned shift = at % chunk;
    llvm::Value*& low = words[at / chunk];
    low = ir_.CreateOr(low, ir_.CreateShl(value, shift));
    if (shift + bits > chunk) {
      llvm::Value*& high = words[at / chunk + 1];
      high = ir_.CreateOr(high, ir_.CreateLShr(value, chunk - shift));
    }
    at += bits;
  }
  if (map.has_zero_slot()) return words;
  for (llvm::Value*& word : words) word = ir_.CreateOr(word, i64(std::uint64_t{1} << 63));
  return words;
}

llvm::Value* FunctionGenerator::load(const Element& element, const Expression& place, bool counted) {
  llvm::Type* type = storage_type(element.type);
  llvm::Value* value =
      value_in_range(element, place, counted, type, [&] { return ir_.CreateLoad(type, element.address); });
  return element.type == Type::boolean ? ir_.CreateIsNotNull(value) : value;
}

void FunctionGenerator::store(const Element& element, llvm::Value* value, const Expression& place) {
  llvm::Value* stored = element.type == Type::boolean ? ir_.CreateZExt(value, ir_.getInt8Ty()) : value;
  when_in_range(element, place, true, [&] { ir_.CreateStore(stored, element.address); });
}

}  // namespace lynxpp::cod
