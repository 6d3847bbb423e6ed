// Integer arithmetic, logic, moves, comparisons.
#include "device/cpu/simt/compile/codegen.h"

namespace lynxpp::device::cpu {

using ptx::DataType;
using ptx::Op;
using Value = llvm::Value;

namespace {

std::string_view type_suffix(const DecodedOpcode& opcode) {
  for (auto modifier = opcode.modifiers.rbegin(); modifier != opcode.modifiers.rend(); ++modifier) {
    if (ptx::parse_data_type(*modifier) != DataType::none) return *modifier;
  }
  return {};
}

}  // namespace

/// Emits add, sub and their carry forms; floating-point types are passed on.
void FunctionCodegen::emit_add_sub() {
  const DataType type = opcode_->type();
  if (type == DataType::integer_pair) return emit_integer_pair();
  if (is_vector_float(type)) return emit_float_add_multiply(type);
  if (type == DataType::f32x2) return emit_operation();
  if (emit_narrow_float(type)) return;
  const bool subtracts = opcode_->op == Op::sub || opcode_->op == Op::subc;
  const bool carry_in = instruction_->traits.reads_carry();
  const unsigned bits = bits_of(type);
  if (bits == 0) return unsupported();
  Value* const a = read(1, type);
  Value* const b = read(2, type);
  if (type == DataType::s32 && opcode_->has("sat")) {
    return write(0, type,
                 builder_.CreateBinaryIntrinsic(
                     subtracts ? llvm::Intrinsic::ssub_sat : llvm::Intrinsic::sadd_sat, a, b));
  }
  if (!carry_in && !opcode_->has("cc"))
    return write(0, type, subtracts ? builder_.CreateSub(a, b) : builder_.CreateAdd(a, b));
  Value* carried = nullptr;
  Value* const result = add_with_carry(a, subtracts ? builder_.CreateNot(b) : b,
                                       carry_in    ? read_register(function_.registers->carry())
                                       : subtracts ? splat(1, 1)
                                                   : splat(1, 0),
                                       carried);
  write(0, type, result);
  if (opcode_->has("cc")) write_register(function_.registers->carry(), carried);
}

/// Returns a + b + carry and the carry out. Subtraction adds the complement: after sub.cc a GPU keeps the
/// carry of that sum, which is the inverse of the borrow that the ISA describes. Compilers mix subc.cc and
/// addc.
Value* FunctionCodegen::add_with_carry(Value* a, Value* b, Value* carry, Value*& carried) {
  Value* const sum = builder_.CreateAdd(a, b);
  Value* const in = builder_.CreateZExt(carry, sum->getType());
  Value* const result = builder_.CreateAdd(sum, in);
  carried = builder_.CreateOr(builder_.CreateICmpULT(sum, a), builder_.CreateICmpULT(result, in));
  return result;
}

/// Returns a × b: the low half, the high half, or the double-width product.
Value* FunctionCodegen::multiply(DataType type, bool& wide) {
  const unsigned bits = bits_of(type);
  const bool sign = is_signed(type);
  Value* const a = read(1, type);
  Value* const b = read(2, type);
  wide = opcode_->has("wide");
  if (opcode_->has("lo") || (!wide && !opcode_->has("hi"))) return builder_.CreateMul(a, b);
  Value* const product = builder_.CreateMul(resize(a, bits * 2, sign), resize(b, bits * 2, sign));
  if (wide) return product;
  return resize(builder_.CreateLShr(product, splat(bits * 2, bits)), bits, false);
}

/// Emits mul, mad and madc.
void FunctionCodegen::emit_multiply() {
  const DataType type = opcode_->type();
  if (type == DataType::f32x2) return emit_operation();
  if (is_vector_float(type)) return opcode_->op == Op::mul ? emit_float_add_multiply(type) : emit_fma();
  if (emit_narrow_float(type)) return;
  if (bits_of(type) < 16 || bits_of(type) > 64 || ptx::is_floating(type)) return unsupported();
  bool wide = false;
  Value* const product = multiply(type, wide);
  const unsigned bits = bits_of(type) * (wide ? 2 : 1);
  if (bits > 64) return unsupported("128-bit product");
  using enum DataType;
  const DataType result_type = !wide        ? type
                               : bits == 64 ? (is_signed(type) ? s64 : u64)
                                            : (is_signed(type) ? s32 : u32);
  if (opcode_->op == Op::mul) return write(0, result_type, product);
  Value* const c = read(3, result_type);
  if (opcode_->has("sat")) {
    if (type != s32 || !opcode_->has("hi")) return unsupported();
    return write(0, type, builder_.CreateBinaryIntrinsic(llvm::Intrinsic::sadd_sat, product, c));
  }
  const bool carry_in = opcode_->op == Op::madc;
  if (!carry_in && !opcode_->has("cc")) return write(0, result_type, builder_.CreateAdd(product, c));
  Value* carried = nullptr;
  Value* const in = carry_in ? read_register(function_.registers->carry()) : splat(1, 0);
  write(0, result_type, add_with_carry(product, c, in, carried));
  if (opcode_->has("cc")) write_register(function_.registers->carry(), carried);
}

void FunctionCodegen::emit_mul24() {
  const DataType type = opcode_->type();
  if (bits_of(type) != 32) return unsupported();
  const auto low24 = [&](std::size_t index) {
    Value* const wide = resize(read(index, type), 64, false);
    Value* const high = builder_.CreateShl(wide, splat(64, 40));
    return is_signed(type) ? builder_.CreateAShr(high, splat(64, 40))
                           : builder_.CreateLShr(high, splat(64, 40));
  };
  Value* product = builder_.CreateMul(low24(1), low24(2));
  if (opcode_->has("hi")) product = builder_.CreateLShr(product, splat(64, 16));
  product = resize(product, 32, false);
  if (opcode_->op == Op::mul24) return write(0, type, product);
  Value* const c = read(3, type);
  if (opcode_->has("sat")) {
    if (!is_signed(type)) return unsupported();
    return write(0, type, builder_.CreateBinaryIntrinsic(llvm::Intrinsic::sadd_sat, product, c));
  }
  write(0, type, builder_.CreateAdd(product, c));
}

/// Emits div, rem, min and max according to the type.
void FunctionCodegen::emit_divide() {
  const DataType type = opcode_->type();
  const bool divides = opcode_->op == Op::div;
  const bool orders = opcode_->op == Op::min || opcode_->op == Op::max;
  if (is_vector_float(type)) {
    if (divides) return emit_float_divide(type);
    return orders ? emit_float_min_max(type) : unsupported();
  }
  if (emit_narrow_float(type)) return;
  if (type == DataType::integer_pair) return emit_integer_pair();
  if (orders) return emit_integer_min_max(type);
  // A vector division would also divide in inactive lanes, whose divisor may be zero.
  emit_lane_operation();
}

void FunctionCodegen::emit_integer_min_max(DataType type) {
  if (bits_of(type) < 16 || bits_of(type) > 64 || ptx::is_floating(type)) return unsupported();
  const bool minimum = opcode_->op == Op::min;
  const llvm::Intrinsic::ID id = is_signed(type) ? (minimum ? llvm::Intrinsic::smin : llvm::Intrinsic::smax)
                                                 : (minimum ? llvm::Intrinsic::umin : llvm::Intrinsic::umax);
  Value* result = builder_.CreateBinaryIntrinsic(id, read(1, type), read(2, type));
  if (opcode_->has("relu")) {
    result = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, result, splat(bits_of(type), 0));
  }
  write(0, type, result);
}

/// Emits add, min and max of each half separately.
void FunctionCodegen::emit_integer_pair() {
  const Op op = opcode_->op;
  const bool sign = opcode_->has("s16x2");
  if ((op != Op::add && op != Op::min && op != Op::max) || opcode_->has("sat")) return unsupported();
  Value* const a = read(1, DataType::b32);
  Value* const b = read(2, DataType::b32);
  const auto of_half = [&](unsigned shift) {
    Value* const first = resize(builder_.CreateLShr(a, splat(32, shift)), 16, false);
    Value* const second = resize(builder_.CreateLShr(b, splat(32, shift)), 16, false);
    if (op == Op::add) return builder_.CreateAdd(first, second);
    const bool minimum = op == Op::min;
    const llvm::Intrinsic::ID id = sign ? (minimum ? llvm::Intrinsic::smin : llvm::Intrinsic::smax)
                                        : (minimum ? llvm::Intrinsic::umin : llvm::Intrinsic::umax);
    Value* const result = builder_.CreateBinaryIntrinsic(id, first, second);
    if (!opcode_->has("relu")) return result;
    return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, result, splat(16, 0));
  };
  Value* const low = resize(of_half(0), 32, false);
  Value* const high = builder_.CreateShl(resize(of_half(16), 32, false), splat(32, 16));
  write(0, DataType::b32, builder_.CreateOr(low, high));
}

void FunctionCodegen::emit_absolute() {
  const DataType type = opcode_->type();
  if (emit_narrow_float(type)) return;
  const unsigned bits = bits_of(type);
  if (is_vector_float(type)) {
    Value* const magnitude =
        builder_.CreateAnd(as_bits(read_float(1, type)), splat(bits, ~(std::uint64_t{1} << (bits - 1))));
    return write(0, type, magnitude);
  }
  if (bits == 0 || bits > 64) return unsupported();
  Value* const a = read(1, type);
  Value* const negative = builder_.CreateICmpSLT(a, splat(bits, 0));
  write(0, type, builder_.CreateSelect(negative, builder_.CreateNeg(a), a));
}

void FunctionCodegen::emit_negate() {
  const DataType type = opcode_->type();
  if (emit_narrow_float(type)) return;
  const unsigned bits = bits_of(type);
  if (is_vector_float(type)) {
    return write(
        0, type,
        builder_.CreateXor(as_bits(read_float(1, type)), splat(bits, std::uint64_t{1} << (bits - 1))));
  }
  if (bits == 0 || bits > 64) return unsupported();
  write(0, type, builder_.CreateNeg(read(1, type)));
}

void FunctionCodegen::emit_sad() {
  const DataType type = opcode_->type();
  if (bits_of(type) == 0 || bits_of(type) > 64) return unsupported();
  Value* const a = read(1, type);
  Value* const b = read(2, type);
  Value* const less = is_signed(type) ? builder_.CreateICmpSLT(a, b) : builder_.CreateICmpULT(a, b);
  Value* const distance = builder_.CreateSelect(less, builder_.CreateSub(b, a), builder_.CreateSub(a, b));
  write(0, type, builder_.CreateAdd(distance, read(3, type)));
}

void FunctionCodegen::emit_logic() {
  const DataType type = opcode_->type();
  if (bits_of(type) == 0 || bits_of(type) > 64) return unsupported();
  Value* const a = read(1, type);
  const Op op = opcode_->op;
  if (op == Op::bit_not) return write(0, type, builder_.CreateNot(a));
  if (op == Op::cnot) {
    Value* const zero = builder_.CreateICmpEQ(a, splat(bits_of(type), 0));
    return write(0, type, resize(zero, bits_of(type), false));
  }
  Value* const b = read(2, type);
  write(0, type,
        op == Op::bit_and  ? builder_.CreateAnd(a, b)
        : op == Op::bit_or ? builder_.CreateOr(a, b)
                           : builder_.CreateXor(a, b));
}

/// lop3: d = F(a, b, c), where bit 4a + 2b + c of the immediate is the truth table's entry.
void FunctionCodegen::emit_lop3() {
  // lop3.op.b32 d|p, a, b, c, table, q: p is true if any bit of d is set, combined with q.
  const std::string_view combination = opcode_->first_of({"and", "or"});
  const ptx::Operand& destination = operand(0);
  const bool has_predicate = destination.kind == ptx::OperandKind::pair;
  if (has_predicate == combination.empty()) return unsupported("malformed operands");
  const ptx::Operand& table = operand(4);
  if (table.kind != ptx::OperandKind::integer) return unsupported("its table is not a constant");
  Value* const inputs[3] = {read(1, DataType::b32), read(2, DataType::b32), read(3, DataType::b32)};
  Value* result = splat(32, 0);
  for (unsigned row = 0; row < 8; ++row) {
    if ((table.integer >> row & 1) == 0) continue;
    Value* term = nullptr;
    for (unsigned input = 0; input < 3; ++input) {
      const bool set = (row >> (2 - input) & 1) != 0;
      Value* const literal = set ? inputs[input] : builder_.CreateNot(inputs[input]);
      term = term == nullptr ? literal : builder_.CreateAnd(term, literal);
    }
    result = builder_.CreateOr(result, term);
  }
  if (!has_predicate) return write(0, DataType::b32, result);
  Value* const set = builder_.CreateICmpNE(result, splat(32, 0));
  Value* const other = read_predicate(operand(5));
  write(destination.elements[0], DataType::b32, result);
  write_predicate(destination.elements[1],
                  combination == "and" ? builder_.CreateAnd(set, other) : builder_.CreateOr(set, other));
}

/// Shift amounts beyond the width yield 0, or the sign for shr.s.
void FunctionCodegen::emit_shift() {
  const DataType type = opcode_->type();
  const unsigned bits = bits_of(type);
  if (bits < 16 || bits > 64) return unsupported();
  Value* const value = read(1, type);
  Value* const amount = read(2, DataType::u32);
  Value* const large = builder_.CreateICmpUGE(amount, splat(32, bits));
  Value* const within = resize(builder_.CreateAnd(amount, splat(32, bits - 1)), bits, false);
  if (opcode_->op == Op::shr && is_signed(type)) {
    Value* const last = splat(bits, bits - 1);
    return write(0, type, builder_.CreateAShr(value, builder_.CreateSelect(large, last, within)));
  }
  Value* const shifted =
      opcode_->op == Op::shl ? builder_.CreateShl(value, within) : builder_.CreateLShr(value, within);
  write(0, type, builder_.CreateSelect(large, splat(bits, 0), shifted));
}

/// shf.{l,r}.{clamp,wrap}.b32 d, low, high, amount.
void FunctionCodegen::emit_funnel_shift() {
  Value* const low = read(1, DataType::b32);
  Value* const high = read(2, DataType::b32);
  Value* amount = read(3, DataType::u32);
  if (opcode_->has("wrap")) {
    amount = builder_.CreateAnd(amount, splat(32, 31));
  } else {
    amount = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, amount, splat(32, 32));
  }
  Value* const joined =
      builder_.CreateOr(builder_.CreateShl(resize(high, 64, false), splat(64, 32)), resize(low, 64, false));
  Value* const wide = resize(amount, 64, false);
  Value* const result = opcode_->has("l")
                            ? builder_.CreateLShr(builder_.CreateShl(joined, wide), splat(64, 32))
                            : builder_.CreateLShr(joined, wide);
  write(0, DataType::b32, resize(result, 32, false));
}

/// Emits popc, clz and brev. popc and clz have a u32 result for any operand type.
void FunctionCodegen::emit_bit_count() {
  const DataType type = opcode_->type();
  if (bits_of(type) != 32 && bits_of(type) != 64) return unsupported();
  Value* const a = read(1, type);
  if (opcode_->op == Op::brev)
    return write(0, type, builder_.CreateUnaryIntrinsic(llvm::Intrinsic::bitreverse, a));
  Value* const count = opcode_->op == Op::popc ? builder_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, a)
                                               : builder_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, a,
                                                                                builder_.getInt1(false));
  write(0, DataType::u32, resize(count, 32, false));
}

/// Emits operations that the lane table has under root{.modifier}.type, with operands of the table's widths.
void FunctionCodegen::emit_lane_operation() {
  std::string key(opcode_->root);
  for (const std::string_view modifier : {"shiftamt", "clamp", "wrap"}) {
    if (opcode_->has(modifier)) key += "." + std::string(modifier);
  }
  key += "." + std::string(type_suffix(*opcode_));
  const LaneOperation* const operation = find_lane_operation(key);
  if (operation == nullptr) return unsupported();
  const auto take = [&](unsigned index) -> Value* {
    return operation->operand_bits[index] == 0
               ? nullptr
               : read_bits(operand(index + 1), operation->operand_bits[index]);
  };
  Value* const a = take(0);
  Value* const b = take(1);
  Value* const c = take(2);
  Value* result = nullptr;
  if (opcode_->op == Op::bfi) {
    // bfi d, a, b, position, length: the last two are packed into one operand. For values beyond 255 see bfe.
    const auto restricted = [&](Value* number) {
      Value* const most = splat(32, 255);
      return bits_of(opcode_->type()) == 64
                 ? builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, number, most)
                 : builder_.CreateAnd(number, most);
    };
    Value* const length = builder_.CreateShl(restricted(read(4, DataType::u32)), splat(32, 8));
    result = call_lane(key, {a, b, builder_.CreateOr(restricted(c), length)});
  } else if (c != nullptr) {
    result = call_lane(key, {a, b, c});
  } else if (b != nullptr) {
    result = call_lane(key, {a, b});
  } else {
    result = call_lane(key, {a});
  }
  const unsigned bits = result->getType()->getScalarSizeInBits();
  write(0, bits == bits_of(opcode_->type()) ? opcode_->type() : DataType::u32, result);
}

void FunctionCodegen::emit_permute() {
  const std::string_view mode = opcode_->first_of({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  std::string key = "prmt";
  if (!mode.empty()) key += "." + std::string(mode);
  write(0, DataType::b32,
        call_lane(key, {read(1, DataType::b32), read(2, DataType::b32), read(3, DataType::b32)}));
}

void FunctionCodegen::emit_dot_product() {
  std::string key(opcode_->root);
  if (opcode_->op == Op::dp2a) key += opcode_->has("hi") ? ".hi" : ".lo";
  if (opcode_->types.size() != 2) return unsupported();
  for (const DataType type : opcode_->types) key += is_signed(type) ? ".s32" : ".u32";
  const bool sign = is_signed(opcode_->type(0)) || is_signed(opcode_->type(1));
  Value* const result =
      call_lane(key, {read(1, DataType::b32), read(2, DataType::b32), read(3, DataType::b32)});
  write(0, sign ? DataType::s32 : DataType::u32, result);
}

/// mov of registers, constants and addresses; {a, b} packs and unpacks.
void FunctionCodegen::emit_move() {
  const DataType type = opcode_->type();
  const unsigned bits = bits_of(type);
  if (bits == 0) return unsupported();
  if (operand(0).kind == ptx::OperandKind::vector) return emit_unpack();
  const ptx::Operand& source = operand(1);
  if (source.kind != ptx::OperandKind::vector) return write(0, type, read(source, type));
  if (source.elements.empty() || bits % source.elements.size() != 0) return unsupported();
  const auto width = static_cast<unsigned>(bits / source.elements.size());
  Value* packed = splat(bits, 0);
  for (std::size_t i = 0; i < source.elements.size(); ++i) {
    Value* const part = resize(read_bits(source.elements[i], width), bits, false);
    packed = builder_.CreateOr(packed, builder_.CreateShl(part, splat(bits, i * width)));
  }
  write(0, type, packed);
}

void FunctionCodegen::emit_unpack() {
  const unsigned bits = bits_of(opcode_->type());
  const ptx::Operand& destination = operand(0);
  if (destination.elements.empty() || bits % destination.elements.size() != 0) return unsupported();
  const auto width = static_cast<unsigned>(bits / destination.elements.size());
  Value* const source = read_bits(operand(1), bits);
  const DataType part_type = width == 64   ? DataType::b64
                             : width == 32 ? DataType::b32
                             : width == 16 ? DataType::b16
                             : width == 8  ? DataType::b8
                                           : DataType::none;
  if (part_type == DataType::none) return unsupported();
  for (std::size_t i = 0; i < destination.elements.size(); ++i) {
    write(destination.elements[i], part_type,
          resize(builder_.CreateLShr(source, splat(bits, i * width)), width, false));
  }
}

void FunctionCodegen::emit_select() {
  const DataType type = opcode_->type();
  if (bits_of(type) == 0 || bits_of(type) > 64) return unsupported();
  Value* const a = read(1, type);
  Value* const b = read(2, type);
  write(0, type, builder_.CreateSelect(read_predicate(operand(3)), a, b));
}

/// d = c >= 0 ? a : b.
void FunctionCodegen::emit_slct() {
  const DataType type = opcode_->type(0);
  const DataType selector = opcode_->type(1);
  if (bits_of(type) == 0 || bits_of(type) > 64) return unsupported();
  Value* const a = read(1, type);
  Value* const b = read(2, type);
  Value* condition = nullptr;
  if (selector == DataType::s32) {
    condition = builder_.CreateICmpSGE(read(3, selector), splat(32, 0));
  } else if (selector == DataType::f32) {
    condition =
        builder_.CreateFCmpOGE(read_float(3, selector), llvm::ConstantFP::get(float_type(selector), 0.0));
  } else {
    return unsupported();
  }
  write(0, type, builder_.CreateSelect(condition, a, b));
}

namespace {

using Predicate = llvm::CmpInst::Predicate;

/// Returns the predicates of the comparison operators: signed, unsigned, floating-point.
const std::map<std::string_view, std::array<Predicate, 3>>& comparisons() {
  using P = Predicate;
  static const std::map<std::string_view, std::array<P, 3>> table = {
      {"eq", {P::ICMP_EQ, P::ICMP_EQ, P::FCMP_OEQ}},
      {"ne", {P::ICMP_NE, P::ICMP_NE, P::FCMP_ONE}},
      {"lt", {P::ICMP_SLT, P::ICMP_ULT, P::FCMP_OLT}},
      {"le", {P::ICMP_SLE, P::ICMP_ULE, P::FCMP_OLE}},
      {"gt", {P::ICMP_SGT, P::ICMP_UGT, P::FCMP_OGT}},
      {"ge", {P::ICMP_SGE, P::ICMP_UGE, P::FCMP_OGE}},
      {"lo", {P::ICMP_ULT, P::ICMP_ULT, P::FCMP_OLT}},
      {"ls", {P::ICMP_ULE, P::ICMP_ULE, P::FCMP_OLE}},
      {"hi", {P::ICMP_UGT, P::ICMP_UGT, P::FCMP_OGT}},
      {"hs", {P::ICMP_UGE, P::ICMP_UGE, P::FCMP_OGE}},
      {"equ", {P::ICMP_EQ, P::ICMP_EQ, P::FCMP_UEQ}},
      {"neu", {P::ICMP_NE, P::ICMP_NE, P::FCMP_UNE}},
      {"ltu", {P::ICMP_SLT, P::ICMP_ULT, P::FCMP_ULT}},
      {"leu", {P::ICMP_SLE, P::ICMP_ULE, P::FCMP_ULE}},
      {"gtu", {P::ICMP_SGT, P::ICMP_UGT, P::FCMP_UGT}},
      {"geu", {P::ICMP_SGE, P::ICMP_UGE, P::FCMP_UGE}},
      {"num", {P::BAD_ICMP_PREDICATE, P::BAD_ICMP_PREDICATE, P::FCMP_ORD}},
      {"nan", {P::BAD_ICMP_PREDICATE, P::BAD_ICMP_PREDICATE, P::FCMP_UNO}},
  };
  return table;
}

bool is_pair(DataType type) { return type == DataType::f16x2 || type == DataType::bf16x2; }

}  // namespace

/// Returns the comparison in setp and set of operands 1 and 2, before it is combined. For a pair, compares
/// the low or high half.
Value* FunctionCodegen::comparison(DataType type, bool high_half) {
  const std::string_view name =
      opcode_->first_that([](std::string_view modifier) { return comparisons().contains(modifier); });
  const bool floating = ptx::is_floating(type);
  const Predicate predicate = name.empty() ? Predicate::BAD_ICMP_PREDICATE
                                           : comparisons().at(name)[floating          ? 2
                                                                    : is_signed(type) ? 0
                                                                                      : 1];
  if (predicate == Predicate::BAD_ICMP_PREDICATE || bits_of(type) < 8 || bits_of(type) > 64 ||
      type == DataType::f32x2) {
    unsupported();
    return splat(1, 0);
  }
  if (is_vector_float(type)) return builder_.CreateFCmp(predicate, read_float(1, type), read_float(2, type));
  if (!floating) return builder_.CreateICmp(predicate, read(1, type), read(2, type));
  const bool brain = type == DataType::bf16 || type == DataType::bf16x2;
  const auto widened = [&](std::size_t index) {
    Value* bits = read(index, type);
    if (high_half) bits = builder_.CreateLShr(bits, splat(32, 16));
    Value* const half = resize(bits, 16, false);
    Value* const value = as_float(call_lane(brain ? "cvt.f32.bf16" : "cvt.f32.f16", {half}), DataType::f32);
    if (!opcode_->has("ftz")) return value;
    // A subnormal half is a normal float: below the smallest normal half it counts as zero.
    Value* const smallest = llvm::ConstantFP::get(float_type(DataType::f32), brain ? 0x1p-126 : 0x1p-14);
    Value* const magnitude = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
    Value* const zero = llvm::ConstantFP::get(float_type(DataType::f32), 0.0);
    return builder_.CreateSelect(builder_.CreateFCmpOLT(magnitude, smallest), zero, value);
  };
  Value* const a = widened(1);
  return builder_.CreateFCmp(predicate, a, widened(2));
}

Value* FunctionCodegen::combine(Value* compared, const ptx::Operand& other) {
  const std::string_view logic = opcode_->first_of({"and", "or", "xor"});
  if (logic.empty()) return compared;
  Value* const predicate = read_predicate(other);
  return logic == "and"  ? builder_.CreateAnd(compared, predicate)
         : logic == "or" ? builder_.CreateOr(compared, predicate)
                         : builder_.CreateXor(compared, predicate);
}

/// setp.cmp{.bool}.type p{|q}, a, b {, c}: q gets the complement of the comparison, combined in the same way;
/// for pairs of halves, q gets the comparison of the high halves.
void FunctionCodegen::emit_compare() {
  const DataType type = opcode_->type();
  Value* const compared = comparison(type, false);
  const bool combines = instruction_->operands.size() > 3;
  const ptx::Operand& destination = operand(0);
  const auto combined = [&](Value* value) { return combines ? combine(value, operand(3)) : value; };
  if (destination.kind != ptx::OperandKind::pair) {
    return is_pair(type) ? unsupported() : write_predicate(destination, combined(compared));
  }
  if (destination.elements.size() != 2) return unsupported();
  Value* const first = combined(compared);
  Value* const second = combined(is_pair(type) ? comparison(type, true) : builder_.CreateNot(compared));
  write_predicate(destination.elements[0], first);
  write_predicate(destination.elements[1], second);
}

/// set: all ones for true, or 1.0 if the result is floating-point.
void FunctionCodegen::emit_set() {
  if (opcode_->types.size() != 2) return unsupported();
  const DataType type = opcode_->type(0);
  const DataType compared_type = opcode_->type(1);
  const auto half_one = [](DataType format) {
    return format == DataType::f16 || format == DataType::f16x2 ? 0x3c00u : 0x3f80u;
  };
  const auto compare = [&](bool high_half) {
    Value* const value = comparison(compared_type, high_half);
    return instruction_->operands.size() > 3 ? combine(value, operand(3)) : value;
  };
  if (is_pair(compared_type)) {
    if (bits_of(type) != 32 || type == DataType::f32) return unsupported();
    const std::uint32_t one = is_pair(type) ? half_one(type) : 0xffffu;
    Value* const low = builder_.CreateSelect(compare(false), splat(32, one), splat(32, 0));
    Value* const high = builder_.CreateSelect(compare(true), splat(32, one << 16), splat(32, 0));
    return write(0, type, builder_.CreateOr(low, high));
  }
  const unsigned bits = bits_of(type);
  if (is_pair(type) || (bits != 32 && bits != 16)) return unsupported();
  const std::uint64_t one = type == DataType::f32    ? 0x3f800000u
                            : ptx::is_floating(type) ? half_one(type)
                                                     : ~0u;
  write(0, type, builder_.CreateSelect(compare(false), splat(bits, one), splat(bits, 0)));
}

}  // namespace lynxpp::device::cpu
