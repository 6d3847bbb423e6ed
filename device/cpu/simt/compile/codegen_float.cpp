// Floating-point instructions and conversions.
#include <algorithm>

#include "device/cpu/simt/compile/codegen.h"

namespace lynxpp::device::cpu {

using ptx::DataType;
using ptx::Op;
using Value = llvm::Value;

namespace {

std::string type_name(DataType type) {
  using enum DataType;
  switch (type) {
    case u8:
    case b8: return "u8";
    case u16:
    case b16: return "u16";
    case u32:
    case b32: return "u32";
    case u64:
    case b64: return "u64";
    case s8: return "s8";
    case s16: return "s16";
    case s32: return "s32";
    case s64: return "s64";
    case f16: return "f16";
    case f16x2: return "f16x2";
    case bf16: return "bf16";
    case bf16x2: return "bf16x2";
    case f32: return "f32";
    case f64: return "f64";
    default: return "none";
  }
}

bool is_narrow(DataType type) {
  using enum DataType;
  return type == f16 || type == f16x2 || type == bf16 || type == bf16x2;
}

}  // namespace

/// Returns ".rz", ".rm" or ".rp"; empty for round-to-nearest, the host's mode.
std::string FunctionCodegen::rounding() const {
  const std::string_view mode = opcode_->first_of({"rz", "rm", "rp"});
  return mode.empty() ? std::string() : "." + std::string(mode);
}

/// Emits add, sub, mul, fma, neg, abs, min and max of 16-bit floats. Returns false for other types.
bool FunctionCodegen::emit_narrow_float(DataType type) {
  if (!is_narrow(type)) return false;
  std::string key(opcode_->root);
  for (const std::string_view modifier : {"NaN", "xorsign"}) {
    if (opcode_->has(modifier)) key += "." + std::string(modifier);
  }
  if (!rounding().empty()) {
    unsupported();
    return true;
  }
  for (const std::string_view modifier : {"sat", "relu", "ftz"}) {
    if (opcode_->has(modifier)) key += "." + std::string(modifier);
  }
  key += "." + type_name(type);
  const LaneOperation* const operation = find_lane_operation(key);
  if (operation == nullptr) {
    unsupported();
    return true;
  }
  Value* const a = read(1, type);
  Value* result = nullptr;
  if (operation->operand_bits[2] != 0) {
    result = call_lane(key, {a, read(2, type), read(3, type)});
  } else if (operation->operand_bits[1] != 0) {
    result = call_lane(key, {a, read(2, type)});
  } else {
    result = call_lane(key, {a});
  }
  write(0, type, result);
  return true;
}

void FunctionCodegen::finish_float(DataType type, Value* value) {
  if (value->getType()->isIntOrIntVectorTy()) value = as_float(value, type);
  if (opcode_->has("ftz")) value = flush_denormals(value, type);
  if (opcode_->has("sat")) {
    value = clamp_to_unit(value, type);
  } else {
    Value* const any_nan = value;
    value = as_bits(canonical_nan(value, type));
    if (type == DataType::f32) any_nan_[value] = any_nan;
  }
  write(0, type, value);
}

/// Same as read_float(), for operations that canonicalize a NaN result anyway. Waiting for the canonical
/// operand would double the latency of chains of sums.
Value* FunctionCodegen::read_term(std::size_t index, DataType type) {
  Value* const bits = read(index, type);
  const auto found = any_nan_.find(bits);
  Value* const value = found != any_nan_.end() ? found->second : as_float(bits, type);
  return opcode_->has("ftz") ? flush_denormals(value, type) : value;
}

/// Emits add, sub and mul.
void FunctionCodegen::emit_float_add_multiply(DataType type) {
  Value* const a = read_term(1, type);
  Value* const b = read_term(2, type);
  const std::string root(opcode_->root);
  if (const std::string mode = rounding(); !mode.empty()) {
    return finish_float(type, call_lane(root + mode + "." + type_name(type), {a, b}));
  }
  finish_float(type, opcode_->op == Op::add   ? builder_.CreateFAdd(a, b)
                     : opcode_->op == Op::sub ? builder_.CreateFSub(a, b)
                                              : builder_.CreateFMul(a, b));
}

/// Emits fma, and mad of floating-point types, which is the same.
void FunctionCodegen::emit_fma() {
  const DataType type = opcode_->type();
  if (emit_narrow_float(type)) return;
  if (type == DataType::f32x2) return emit_operation();
  if (!is_vector_float(type)) return unsupported();
  Value* const a = read_term(1, type);
  Value* const b = read_term(2, type);
  Value* const c = read_term(3, type);
  if (const std::string mode = rounding(); !mode.empty()) {
    return finish_float(type, call_lane("fma" + mode + "." + type_name(type), {a, b, c}));
  }
  finish_float(type, builder_.CreateIntrinsic(llvm::Intrinsic::fma, {float_type(type)}, {a, b, c}));
}

/// .approx and .full yield the correctly rounded quotient, which is within their error bounds.
void FunctionCodegen::emit_float_divide(DataType type) {
  Value* const a = read_float(1, type);
  Value* const b = read_float(2, type);
  if (const std::string mode = rounding(); !mode.empty()) {
    return finish_float(type, call_lane("div" + mode + "." + type_name(type), {a, b}));
  }
  finish_float(type, builder_.CreateFDiv(a, b));
}

/// Returns the other operand if one is NaN; -0 is less than +0.
Value* FunctionCodegen::float_min_max(Value* a, Value* b, DataType type, bool minimum) {
  Value* const first = minimum ? builder_.CreateFCmpOLT(a, b) : builder_.CreateFCmpOGT(a, b);
  Value* const equal = builder_.CreateFCmpOEQ(a, b);
  Value* const b_is_nan = builder_.CreateFCmpUNO(b, b);
  Value* const joined =
      minimum ? builder_.CreateOr(as_bits(a), as_bits(b)) : builder_.CreateAnd(as_bits(a), as_bits(b));
  Value* result = builder_.CreateSelect(builder_.CreateOr(first, b_is_nan), a, b);
  result = builder_.CreateSelect(equal, as_float(joined, type), result);
  if (!opcode_->has("NaN")) return result;
  const unsigned bits = bits_of(type);
  Value* const nan = as_float(splat(bits, bits == 32 ? 0x7fffffffu : 0x7ff8'0000'0000'0000u), type);
  return builder_.CreateSelect(builder_.CreateFCmpUNO(a, b), nan, result);
}

void FunctionCodegen::emit_float_min_max(DataType type) {
  const bool minimum = opcode_->op == Op::min;
  if (opcode_->has("xorsign")) return emit_xorsign(type, minimum);
  Value* result = float_min_max(read_float(1, type), read_float(2, type), type, minimum);
  if (instruction_->operands.size() > 3) result = float_min_max(result, read_float(3, type), type, minimum);
  finish_float(type, result);
}

/// Emits min and max of magnitudes, with the exclusive or of the signs.
void FunctionCodegen::emit_xorsign(DataType type, bool minimum) {
  if (type != DataType::f32 || !opcode_->has("abs") || instruction_->operands.size() > 3)
    return unsupported();
  Value* const a = read_float(1, type);
  Value* const b = read_float(2, type);
  const auto magnitude = [&](Value* value) {
    return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
  };
  Value* const result = float_min_max(magnitude(a), magnitude(b), type, minimum);
  Value* const sign = builder_.CreateAnd(builder_.CreateXor(as_bits(a), as_bits(b)), splat(32, 0x80000000));
  finish_float(type, as_float(builder_.CreateOr(as_bits(result), sign), type));
}

/// Emits sqrt, rcp and rsqrt.
void FunctionCodegen::emit_root() {
  const DataType type = opcode_->type();
  if (!is_vector_float(type)) return unsupported();
  Value* const a = read_float(1, type);
  const std::string root(opcode_->root);
  if (const std::string mode = rounding(); !mode.empty() || opcode_->op == Op::rsqrt) {
    return finish_float(type, call_lane(root + mode + "." + type_name(type), {a}));
  }
  if (opcode_->op == Op::sqrt)
    return finish_float(type, builder_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a));
  finish_float(type, builder_.CreateFDiv(llvm::ConstantFP::get(float_type(type), 1.0), a));
}

void FunctionCodegen::emit_transcendental() {
  const DataType type = opcode_->type();
  if (is_narrow(type)) {
    if (!emit_narrow_float(type)) unsupported();
    return;
  }
  if (type != DataType::f32) return unsupported();
  finish_float(type, call_lane(std::string(opcode_->root) + ".f32", {read_float(1, type)}));
}

/// copysign d, a, b: the sign of a with the magnitude of b.
void FunctionCodegen::emit_copysign() {
  const DataType type = opcode_->type();
  if (!is_vector_float(type)) return unsupported();
  const unsigned bits = bits_of(type);
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  write(0, type,
        builder_.CreateOr(builder_.CreateAnd(read(1, type), splat(bits, sign)),
                          builder_.CreateAnd(read(2, type), splat(bits, ~sign))));
}

void FunctionCodegen::emit_testp() {
  const DataType type = opcode_->type();
  if (!is_vector_float(type)) return unsupported();
  const unsigned bits = bits_of(type);
  const std::uint64_t infinity = bits == 32 ? 0x7f80'0000u : 0x7ff0'0000'0000'0000u;
  Value* const magnitude = builder_.CreateAnd(read(1, type), splat(bits, ~(std::uint64_t{1} << (bits - 1))));
  Value* const smallest_normal = splat(bits, bits == 32 ? 0x0080'0000u : 0x0010'0000'0000'0000u);
  Value* const top = splat(bits, infinity);
  Value* const below_top = builder_.CreateICmpULT(magnitude, top);
  const std::string_view test =
      opcode_->first_of({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  Value* result = nullptr;
  if (test == "finite") result = below_top;
  if (test == "infinite") result = builder_.CreateICmpEQ(magnitude, top);
  if (test == "number") result = builder_.CreateICmpULE(magnitude, top);
  if (test == "notanumber") result = builder_.CreateICmpUGT(magnitude, top);
  if (test == "normal")
    result = builder_.CreateAnd(below_top, builder_.CreateICmpUGE(magnitude, smallest_normal));
  if (test == "subnormal") {
    result = builder_.CreateAnd(builder_.CreateICmpNE(magnitude, splat(bits, 0)),
                                builder_.CreateICmpULT(magnitude, smallest_normal));
  }
  if (result == nullptr) return unsupported();
  write_predicate(operand(0), result);
}

// ---------------------------------------------------------------- cvt

void FunctionCodegen::emit_convert() {
  const auto of_operation = [](DataType type) { return type == DataType::opaque || type == DataType::tf32; };
  if (opcode_->has("pack") || opcode_->has("rs") || std::ranges::any_of(opcode_->types, of_operation))
    return emit_operation();
  if (opcode_->types.size() != 2) return unsupported();
  const DataType to = opcode_->type(0);
  const DataType from = opcode_->type(1);
  if (opcode_->has("satfinite")) return emit_operation();
  if (is_narrow(to) || is_narrow(from)) return convert_narrow(to, from);
  const bool to_float = is_vector_float(to);
  const bool from_float = is_vector_float(from);
  if ((!to_float && ptx::is_floating(to)) || (!from_float && ptx::is_floating(from))) return unsupported();
  if (bits_of(to) == 0 || bits_of(from) == 0 || bits_of(to) > 64 || bits_of(from) > 64) return unsupported();
  if (to_float) return from_float ? convert_float(to, from) : convert_from_integer(to, from);
  return from_float ? convert_to_integer(to, from) : convert_integer(to, from);
}

void FunctionCodegen::convert_integer(DataType to, DataType from) {
  const unsigned bits = bits_of(to);
  Value* value = read(1, from);
  if (!opcode_->has("sat")) return write(0, to, resize(value, bits, is_signed(from)));
  // Clamps as if in 65 bits: 64-bit values with the source's sign are wide enough for every pair but u64 ▶
  // s64.
  value = resize(value, 64, is_signed(from));
  const std::uint64_t highest =
      is_signed(to) ? ~std::uint64_t{0} >> (65 - bits) : ~std::uint64_t{0} >> (64 - bits);
  if (is_signed(from)) {
    const std::int64_t lowest = is_signed(to) ? -static_cast<std::int64_t>(highest) - 1 : 0;
    value = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, value,
                                           splat(64, static_cast<std::uint64_t>(lowest)));
    if (static_cast<std::int64_t>(highest) >= 0) {
      value = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, value, splat(64, highest));
    }
  } else {
    value = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, value, splat(64, highest));
  }
  write(0, to, resize(value, bits, false));
}

Value* FunctionCodegen::round_to_integral(Value* value, std::string_view mode) {
  const llvm::Intrinsic::ID id = mode.starts_with("rz")   ? llvm::Intrinsic::trunc
                                 : mode.starts_with("rm") ? llvm::Intrinsic::floor
                                 : mode.starts_with("rp") ? llvm::Intrinsic::ceil
                                                          : llvm::Intrinsic::roundeven;
  return builder_.CreateUnaryIntrinsic(id, value);
}

/// Clamps out-of-range values. NaN becomes 0, or only the top bit set if one of the types has 64 bits.
void FunctionCodegen::convert_to_integer(DataType to, DataType from) {
  const std::string_view mode = opcode_->first_of({"rni", "rzi", "rmi", "rpi"});
  if (mode.empty()) return unsupported("missing rounding mode");
  opcode_->has("sat");  // clamps in any case
  Value* const source = read_float(1, from);
  Value* const rounded = round_to_integral(source, mode);
  const unsigned bits = bits_of(to);
  const llvm::Intrinsic::ID id = is_signed(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  Value* result = builder_.CreateIntrinsic(id, {vector_type(bits), float_type(from)}, {rounded});
  if (from == DataType::f64 || bits == 64) {
    Value* const nan = splat(bits, std::uint64_t{1} << (bits - 1));
    result = builder_.CreateSelect(builder_.CreateFCmpUNO(source, source), nan, result);
  }
  write(0, to, result);
}

void FunctionCodegen::convert_from_integer(DataType to, DataType from) {
  Value* const source = read(1, from);
  if (const std::string mode = rounding(); !mode.empty()) {
    Value* const wide = resize(source, 64, is_signed(from));
    const std::string key = "cvt" + mode + "." + type_name(to) + (is_signed(from) ? ".s64" : ".u64");
    return finish_float(to, call_lane(key, {wide}));
  }
  finish_float(to, is_signed(from) ? builder_.CreateSIToFP(source, float_type(to))
                                   : builder_.CreateUIToFP(source, float_type(to)));
}

void FunctionCodegen::convert_float(DataType to, DataType from) {
  Value* source = read_float(1, from);
  const std::string_view integral = opcode_->first_of({"rni", "rzi", "rmi", "rpi"});
  if (!integral.empty()) source = round_to_integral(source, integral);
  if (to == from) return finish_float(to, source);
  if (to == DataType::f64) return finish_float(to, builder_.CreateFPExt(source, float_type(to)));
  if (const std::string mode = rounding(); !mode.empty()) {
    return finish_float(to, call_lane("cvt" + mode + ".f32.f64", {source}));
  }
  finish_float(to, builder_.CreateFPTrunc(source, float_type(to)));
}

/// Converts to and from 16-bit floats through double or 64-bit integers, which represent every source
/// exactly.
void FunctionCodegen::convert_narrow(DataType to, DataType from) {
  using enum DataType;
  const bool pair = to == f16x2 || to == bf16x2;
  if (pair || is_narrow(to)) {
    const std::string element = to == f16 || to == f16x2 ? "f16" : "bf16";
    std::string flags = rounding();
    if (opcode_->has("relu")) flags += ".relu";
    if (opcode_->has("sat")) flags += ".sat";
    const std::string_view integral = opcode_->first_of({"rni", "rzi", "rmi", "rpi"});
    if (!integral.empty() && (pair || !is_narrow(from))) return unsupported();
    const auto narrow = [&](std::size_t index) -> Value* {
      if (is_vector_float(from)) {
        Value* source = read_float(index, from);
        if (from == f32) source = builder_.CreateFPExt(source, float_type(f64));
        return call_lane("cvt" + flags + "." + element + ".f64", {source});
      }
      if (is_narrow(from)) {
        Value* source = as_float(call_lane("cvt.f64." + type_name(from), {read(index, from)}), f64);
        if (!integral.empty()) source = round_to_integral(source, integral);
        return call_lane("cvt" + flags + "." + element + ".f64", {source});
      }
      Value* const source = resize(read(index, from), 64, is_signed(from));
      return call_lane("cvt" + flags + "." + element + (is_signed(from) ? ".s64" : ".u64"), {source});
    };
    if (!pair) return write(0, to, narrow(1));
    if (from != f32) return unsupported();
    Value* const high = resize(narrow(1), 32, false);
    Value* const low = resize(narrow(2), 32, false);
    return write(0, to, builder_.CreateOr(builder_.CreateShl(high, splat(32, 16)), low));
  }
  if (from == f16x2 || from == bf16x2) return unsupported();
  Value* source = as_float(call_lane("cvt.f64." + type_name(from), {read(1, from)}), f64);
  if (is_vector_float(to)) {
    if (to == f32) source = builder_.CreateFPTrunc(source, float_type(f32));
    return finish_float(to, source);
  }
  const std::string_view mode = opcode_->first_of({"rni", "rzi", "rmi", "rpi"});
  if (mode.empty() || bits_of(to) == 0 || bits_of(to) > 64) return unsupported();
  opcode_->has("sat");  // clamps in any case
  const llvm::Intrinsic::ID id = is_signed(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  Value* result = builder_.CreateIntrinsic(id, {vector_type(bits_of(to)), float_type(f64)},
                                           {round_to_integral(source, mode)});
  if (bits_of(to) == 64) {
    result = builder_.CreateSelect(builder_.CreateFCmpUNO(source, source), splat(64, std::uint64_t{1} << 63),
                                   result);
  }
  write(0, to, result);
}

}  // namespace lynxpp::device::cpu
