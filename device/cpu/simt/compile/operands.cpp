// Reads and writes operands as vectors; building blocks of the emitters.
#include <bit>
#include <cstring>

#include "device/cpu/simt/compile/codegen.h"
#include "device/cpu/simt/execute/counters/clock.h"

namespace lynxpp::device::cpu {

using ptx::DataType;
using ptx::OperandKind;
using Value = llvm::Value;

// ---------------------------------------------------------------- building blocks

llvm::FixedVectorType* FunctionCodegen::vector_type(unsigned bits) const {
  return llvm::FixedVectorType::get(llvm::IntegerType::get(module_.getContext(), bits), warp_size);
}

llvm::FixedVectorType* FunctionCodegen::float_type(DataType type) const {
  llvm::LLVMContext& context = module_.getContext();
  return llvm::FixedVectorType::get(
      type == DataType::f64 ? llvm::Type::getDoubleTy(context) : llvm::Type::getFloatTy(context), warp_size);
}

Value* FunctionCodegen::splat(unsigned bits, std::uint64_t value) {
  return llvm::ConstantInt::get(vector_type(bits), llvm::APInt(64, value).zextOrTrunc(bits));
}

Value* FunctionCodegen::splat(Value* scalar) { return builder_.CreateVectorSplat(warp_size, scalar); }

Value* FunctionCodegen::resize(Value* value, unsigned bits, bool sign) {
  return sign ? builder_.CreateSExtOrTrunc(value, vector_type(bits))
              : builder_.CreateZExtOrTrunc(value, vector_type(bits));
}

Value* FunctionCodegen::context_pointer(std::size_t offset) {
  return builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), warp_, offset);
}

Value* FunctionCodegen::context_load(std::size_t offset, unsigned bits) {
  return builder_.CreateLoad(builder_.getIntNTy(bits), context_pointer(offset));
}

Value* FunctionCodegen::active() {
  return guard_ == nullptr ? mask_ : builder_.CreateAnd(mask_, mask_of(guard_));
}

Value* FunctionCodegen::active_vector() {
  return guard_ == nullptr ? mask_vector_ : builder_.CreateAnd(mask_vector_, guard_);
}

Value* FunctionCodegen::mask_of(Value* predicate) {
  return builder_.CreateBitCast(predicate, builder_.getInt32Ty());
}

Value* FunctionCodegen::predicate_of(Value* mask) { return builder_.CreateBitCast(mask, vector_type(1)); }

/// Buffers: 0 results, 1 to 3 operands, 4 addresses, 5 merged values. Uses of a buffer never overlap.
Value* FunctionCodegen::buffer(unsigned index, unsigned bytes) {
  llvm::AllocaInst*& place = buffers_[index];
  auto* const type = llvm::ArrayType::get(builder_.getInt8Ty(), bytes);
  if (place == nullptr) {
    llvm::IRBuilder<> entry(state_->function->getEntryBlock().getTerminator());
    place = entry.CreateAlloca(type);
    place->setAlignment(llvm::Align(64));
  } else if (llvm::cast<llvm::ArrayType>(place->getAllocatedType())->getNumElements() < bytes) {
    place->setAllocatedType(type);
  }
  return place;
}

Value* FunctionCodegen::spill(unsigned index, Value* value) {
  const unsigned bits = value->getType()->getScalarSizeInBits();
  Value* const place = buffer(index, warp_size * bits / 8);
  builder_.CreateAlignedStore(value, place, llvm::Align(64));
  return place;
}

Value* FunctionCodegen::call_helper(const void* function, llvm::Type* result,
                                    std::initializer_list<Value*> arguments) {
  std::vector<llvm::Type*> types;
  for (Value* argument : arguments) types.push_back(argument->getType());
  Value* const address = varying_pointer(function);
  ++helper_calls_;
  return builder_.CreateCall(llvm::FunctionType::get(result, types, false), address,
                             std::vector<Value*>(arguments));
}

/// Operands are vectors of the operation's widths; the result is a vector of integers.
Value* FunctionCodegen::call_lane(const std::string& key, std::initializer_list<Value*> operands) {
  const LaneOperation* const operation = find_lane_operation(key);
  if (operation == nullptr) {
    unsupported();
    return splat(32, 0);
  }
  std::array<Value*, 3> places;
  places.fill(llvm::ConstantPointerNull::get(builder_.getPtrTy()));
  unsigned index = 0;
  for (Value* value : operands) {
    Value* const bits = resize(as_bits(value), operation->operand_bits[index], false);
    places[index] = spill(index + 1, bits);
    ++index;
  }
  Value* const result = buffer(0, warp_size * operation->result_bits / 8);
  call_helper(reinterpret_cast<const void*>(operation->function), builder_.getVoidTy(),
              {active(), result, places[0], places[1], places[2]});
  return builder_.CreateAlignedLoad(vector_type(operation->result_bits), result, llvm::Align(64));
}

Value* FunctionCodegen::as_float(Value* bits, DataType type) {
  return builder_.CreateBitCast(bits, float_type(type));
}

Value* FunctionCodegen::as_bits(Value* value) {
  if (!value->getType()->isFPOrFPVectorTy()) return value;
  return builder_.CreateBitCast(value, vector_type(value->getType()->getScalarSizeInBits()));
}

/// Replaces subnormals by zeros of the same sign.
Value* FunctionCodegen::flush_denormals(Value* value, DataType type) {
  if (type != DataType::f32) return value;
  Value* const bits = as_bits(value);
  Value* const exponent = builder_.CreateAnd(bits, splat(32, 0x7f800000));
  Value* const zero = builder_.CreateAnd(bits, splat(32, 0x80000000));
  return as_float(builder_.CreateSelect(builder_.CreateICmpEQ(exponent, splat(32, 0)), zero, bits), type);
}

/// Replaces single-precision NaNs by 0x7fffffff; double precision keeps payloads.
Value* FunctionCodegen::canonical_nan(Value* value, DataType type) {
  if (type != DataType::f32) return value;
  Value* const nan = as_float(splat(32, 0x7fffffff), type);
  return builder_.CreateSelect(builder_.CreateFCmpUNO(value, value), nan, value);
}

/// .sat: clamps to [0, 1]; NaN becomes 0.
Value* FunctionCodegen::clamp_to_unit(Value* value, DataType type) {
  Value* const zero = llvm::ConstantFP::get(float_type(type), 0.0);
  Value* const one = llvm::ConstantFP::get(float_type(type), 1.0);
  value = builder_.CreateSelect(builder_.CreateFCmpOGT(value, zero), value, zero);
  return builder_.CreateSelect(builder_.CreateFCmpOLT(value, one), value, one);
}

// ---------------------------------------------------------------- symbols

const ptx::Operand& FunctionCodegen::operand(std::size_t index) {
  static const ptx::Operand none = [] {
    ptx::Operand sink;
    sink.kind = OperandKind::sink;
    return sink;
  }();
  if (index < instruction_->operands.size()) return instruction_->operands[index];
  unsupported("an operand is missing");
  return none;
}

std::optional<RegisterSlot> FunctionCodegen::find_register(std::string_view name) {
  return function_.registers->find(name, scope_);
}

Symbol FunctionCodegen::resolve(std::string_view name) {
  using Kind = Symbol::Kind;
  const ptx::Function& function = *function_.function;
  const auto place = [&](const ptx::Variable& variable, const std::string& shared) -> Symbol {
    if (variable.space == ptx::StateSpace::shared) {
      const auto found = program_.shared.offsets.find(shared);
      return found == program_.shared.offsets.end() ? Symbol{} : Symbol{Kind::shared, found->second};
    }
    if (variable.space == ptx::StateSpace::global || variable.space == ptx::StateSpace::constant) {
      const auto found = symbols_.variables.find(variable.name);
      if (found == symbols_.variables.end()) return {};
      return {Kind::global, reinterpret_cast<std::uintptr_t>(found->second.address)};
    }
    return {};
  };
  if (const ptx::Variable* variable = function.body->find_variable(name, scope_)) {
    if (variable->space == ptx::StateSpace::local || variable->space == ptx::StateSpace::param) {
      return {Kind::local, function_.frame->offset(variable)};
    }
    return place(*variable, shared_key(&function, variable->scope, name));
  }
  if (parameters_) {
    const auto found = parameters_->offsets.find(name);
    if (found != parameters_->offsets.end()) return {Kind::kernel_parameter, found->second};
  } else {
    for (const auto* list : {&function.parameters, &function.returns}) {
      for (const ptx::Variable& formal : *list) {
        if (formal.name == name && formal.space == ptx::StateSpace::param) {
          return {Kind::local, function_.frame->offset(&formal)};
        }
      }
    }
  }
  if (const ptx::Variable* variable = ptx_.find_variable(name)) return place(*variable, std::string(name));
  if (const ptx::Function* target = ptx_.find_function(name)) {
    const auto index = static_cast<std::uint32_t>(target - ptx_.functions.data());
    return {Kind::function, ModuleSymbols::function_token(index)};
  }
  return {};
}

/// Returns the address in the symbol's own space as <32 x i64>.
Value* FunctionCodegen::symbol_value(const Symbol& symbol, std::int64_t offset) {
  Value* const constant = varying_splat(symbol.value + static_cast<std::uint64_t>(offset), 64);
  if (symbol.kind != Symbol::Kind::local) return constant;
  return builder_.CreateAdd(splat(context_load(offsetof(WarpContext, frame), 64)), constant);
}

// ---------------------------------------------------------------- reading

/// A form loads the register for every operand, so that it does not depend on whether two operands are the
/// same.
Value* FunctionCodegen::read_register(const RegisterSlot& slot) {
  const auto found = state_->values.find(slot.id);
  if (found != state_->values.end()) return found->second;
  note_read(slot);
  Value* value = load_register(slot);
  if (slot.bits == 1) value = predicate_of(value);
  if (!is_form()) state_->values[slot.id] = value;
  return value;
}

Value* FunctionCodegen::read_predicate_register(const RegisterSlot& slot, bool negated) {
  if (!negated) return read_register(slot);
  if (!is_form()) return builder_.CreateNot(read_register(slot));
  note_read(slot);
  return predicate_of(builder_.CreateNot(load_register(slot)));
}

Value* FunctionCodegen::read_bits(const ptx::Operand& operand, unsigned bits) {
  switch (operand.kind) {
    case OperandKind::identifier: {
      if (const auto slot = find_register(operand.name)) {
        if (slot->bits == 1) break;
        return resize(read_register(*slot), bits, false);
      }
      if (operand.name == "WARP_SZ") return splat(bits, warp_size);
      if (operand.name.starts_with('%')) return read_special(operand.name, bits);
      const Symbol symbol = resolve(operand.name);
      if (symbol.kind == Symbol::Kind::none) break;
      return resize(symbol_value(symbol, operand.offset), bits, false);
    }
    case OperandKind::special_register: return read_special(operand.name, bits);
    case OperandKind::integer: return varying_splat(static_cast<std::uint64_t>(operand.integer), bits);
    case OperandKind::floating: return varying_splat(operand.bits, bits);
    case OperandKind::address: {
      const std::optional<ptx::ArrayElement> element = ptx::array_element(operand);
      if (!element) break;
      const Symbol symbol = resolve(operand.elements[0].name);
      if (symbol.kind == Symbol::Kind::none || symbol.kind == Symbol::Kind::kernel_parameter) break;
      return resize(builder_.CreateAdd(symbol_value(symbol, 0), element_offset(*element)), bits, false);
    }
    default: break;
  }
  unsupported("operand '" + std::string(ptx_.text(operand.text)) + "'");
  return splat(bits, 0);
}

/// Returns <32 x iN> of the type's width. Registers may be wider than the type; floating-point literals
/// convert to it.
Value* FunctionCodegen::read(const ptx::Operand& operand, DataType type) {
  if (type == DataType::pred) return read_predicate(operand);
  const unsigned bits = bits_of(type);
  if (bits == 0 || bits > 128) {
    unsupported();
    return splat(32, 0);
  }
  if (operand.kind == OperandKind::floating) {
    const double value = operand.is_single ? std::bit_cast<float>(static_cast<std::uint32_t>(operand.bits))
                                           : std::bit_cast<double>(operand.bits);
    if (type == DataType::f32 && !operand.is_single) {
      return varying_splat(std::bit_cast<std::uint32_t>(static_cast<float>(value)), 32);
    }
    if (type == DataType::f64 && operand.is_single)
      return varying_splat(std::bit_cast<std::uint64_t>(value), 64);
  }
  Value* value = read_bits(operand, bits);
  if (operand.negated) {
    value = ptx::is_floating(type) ? builder_.CreateXor(value, splat(bits, std::uint64_t{1} << (bits - 1)))
                                   : builder_.CreateNeg(value);
  }
  return value;
}

Value* FunctionCodegen::read(std::size_t index, DataType type) { return read(operand(index), type); }

Value* FunctionCodegen::read_float(std::size_t index, DataType type) {
  Value* const value = as_float(read(index, type), type);
  return opcode_->has("ftz") ? flush_denormals(value, type) : value;
}

Value* FunctionCodegen::read_predicate(const ptx::Operand& operand) {
  Value* value = nullptr;
  if (operand.kind == OperandKind::integer) {
    value = splat(1, operand.integer != 0);
  } else if (operand.kind == OperandKind::identifier) {
    const auto slot = find_register(operand.name);
    if (slot && slot->bits == 1) return read_predicate_register(*slot, operand.negated);
  }
  if (operand.name == "%is_explicit_cluster" && value == nullptr)
    value = builder_.CreateICmpNE(read_special(operand.name, 32), splat(32, 0));
  if (value == nullptr) {
    unsupported("operand '" + std::string(ptx_.text(operand.text)) + "' is not a predicate");
    return splat(1, 0);
  }
  return operand.negated ? builder_.CreateNot(value) : value;
}

/// Returns null if the register is not a clock.
Value* FunctionCodegen::read_time(std::string_view name, unsigned bits) {
  const bool is_timer = name.starts_with("%globaltimer");
  const std::string_view part = name.substr(is_timer ? std::string_view("%globaltimer").size() : 0);
  const bool is_clock = name == "%clock" || name == "%clock64" || name == "%clock_hi";
  if (!is_clock && !(is_timer && (part.empty() || part == "_lo" || part == "_hi"))) return nullptr;
  const auto call = [&](auto* function, std::initializer_list<Value*> arguments) {
    return splat(call_helper(reinterpret_cast<const void*>(function), builder_.getInt64Ty(), arguments));
  };
  Value* time = nullptr;
  if (program_.timed)
    time = is_timer ? call(&read_modelled_timer, {warp_}) : call(&read_modelled_clock, {warp_});
  else
    time = is_timer ? call(&read_global_timer, {}) : call(&read_clock, {});
  if (name.ends_with("_hi")) time = builder_.CreateLShr(time, splat(64, 32));
  if (name.ends_with("_lo")) time = resize(time, 32, false);
  return resize(time, bits, false);
}

/// Reads %tid.x and similar registers. Returns null if the register has no axis.
Value* FunctionCodegen::read_axis(std::string_view name, unsigned bits) {
  static constexpr std::pair<std::string_view, std::size_t> places[] = {
      {"%ntid", offsetof(WarpContext, ntid)},
      {"%ctaid", offsetof(WarpContext, ctaid)},
      {"%nctaid", offsetof(WarpContext, nctaid)},
      {"%clusterid", offsetof(WarpContext, clusterid)},
      {"%nclusterid", offsetof(WarpContext, nclusterid)},
      {"%cluster_ctaid", offsetof(WarpContext, cluster_ctaid)},
      {"%cluster_nctaid", offsetof(WarpContext, cluster_nctaid)},
  };
  const std::size_t dot = name.find('.');
  const std::string_view base = name.substr(0, dot);
  const std::size_t axis =
      dot == std::string_view::npos || dot + 1 >= name.size() ? 3 : std::size_t(name[dot + 1] - 'x');
  if (axis >= 3) return nullptr;
  if (base == "%tid") {
    Value* const place = context_pointer(offsetof(WarpContext, tid) + axis * sizeof(WarpContext::tid[0]));
    Value* const index = builder_.CreateAlignedLoad(vector_type(32), place, llvm::Align(4));
    note_index(index, static_cast<unsigned>(axis));
    return resize(index, bits, false);
  }
  for (const auto& [each, offset] : places) {
    if (base == each) return resize(splat(context_load(offset + axis * 4, 32)), bits, false);
  }
  return nullptr;
}

Value* FunctionCodegen::read_special(std::string_view name, unsigned bits) {
  const auto lanes = [&](auto function) {
    std::array<std::uint32_t, warp_size> values;
    for (std::uint32_t lane = 0; lane < warp_size; ++lane) values[lane] = function(lane);
    return resize(llvm::ConstantDataVector::get(module_.getContext(), values), bits, false);
  };
  const auto scalar = [&](std::size_t offset, unsigned width = 32) {
    return resize(splat(context_load(offset, width)), bits, false);
  };
  if (Value* const index = read_axis(name, bits); index != nullptr) return index;
  if (name == "%cluster_ctarank") return scalar(offsetof(WarpContext, cluster_ctarank));
  if (name == "%cluster_nctarank") return scalar(offsetof(WarpContext, cluster_nctarank));
  if (name == "%is_explicit_cluster") return scalar(offsetof(WarpContext, is_explicit_cluster));
  if (name == "%laneid") return lanes([](std::uint32_t lane) { return lane; });
  if (name == "%lanemask_eq") return lanes([](std::uint32_t lane) { return 1u << lane; });
  if (name == "%lanemask_lt") return lanes([](std::uint32_t lane) { return (1u << lane) - 1; });
  if (name == "%lanemask_le") return lanes([](std::uint32_t lane) { return (2u << lane) - 1; });
  if (name == "%lanemask_gt") return lanes([](std::uint32_t lane) { return ~((2u << lane) - 1); });
  if (name == "%lanemask_ge") return lanes([](std::uint32_t lane) { return ~((1u << lane) - 1); });
  if (name == "%warpid") return scalar(offsetof(WarpContext, warpid));
  if (name == "%nwarpid") return scalar(offsetof(WarpContext, nwarpid));
  if (name == "%smid") return scalar(offsetof(WarpContext, smid));
  if (name == "%nsmid") return scalar(offsetof(WarpContext, nsmid));
  if (name == "%gridid") return scalar(offsetof(WarpContext, gridid), 64);
  if (name == "%dynamic_smem_size") return scalar(offsetof(WarpContext, dynamic_shared_bytes));
  if (name == "%total_smem_size" || name == "%aggr_smem_size")
    return scalar(offsetof(WarpContext, total_shared_bytes));
  if (name.starts_with("%reserved_smem_offset_")) {
    const std::uint32_t offset = name.ends_with("_end")   ? SharedLayout::reserved_end
                                 : name.ends_with("_cap") ? SharedLayout::room_reserved
                                                          : 0;
    return builder_.CreateAdd(scalar(offsetof(WarpContext, reserved_shared)), splat(bits, offset));
  }
  if (name == "%envreg1" || name == "%envreg2") {
    Value* const place = splat(context_load(offsetof(WarpContext, workspace), 64));
    return resize(name == "%envreg2" ? resize(place, 32, false) : builder_.CreateLShr(place, splat(64, 32)),
                  bits, false);
  }
  if (name.starts_with("%envreg")) return splat(bits, 0);
  if (Value* const time = read_time(name, bits); time != nullptr) return time;
  unsupported("'" + std::string(name) + "'");
  return splat(bits, 0);
}

// ---------------------------------------------------------------- writing

void FunctionCodegen::write_register(const RegisterSlot& slot, Value* value) {
  if (is_form()) {
    if (guard_ != nullptr) note_read(slot);
    store_register(slot, value);
  } else {
    if (guard_ != nullptr) value = builder_.CreateSelect(guard_, value, read_register(slot));
    state_->values[slot.id] = value;
  }
  note_written(slot);
}

/// If the register is wider than the type, the value is extended with the type's signedness.
void FunctionCodegen::write(const ptx::Operand& operand, DataType type, Value* value) {
  if (type == DataType::pred) return write_predicate(operand, value);
  if (operand.kind == OperandKind::sink) return;
  const auto slot = operand.kind == OperandKind::identifier ? find_register(operand.name) : std::nullopt;
  if (!slot || slot->bits == 1) {
    return unsupported("destination '" + std::string(ptx_.text(operand.text)) + "'");
  }
  write_register(*slot, resize(as_bits(value), slot->bits, is_signed(type)));
}

void FunctionCodegen::write(std::size_t index, DataType type, Value* value) {
  write(operand(index), type, value);
}

void FunctionCodegen::write_predicate(const ptx::Operand& operand, Value* value) {
  if (operand.kind == OperandKind::sink) return;
  const auto slot = operand.kind == OperandKind::identifier ? find_register(operand.name) : std::nullopt;
  if (!slot || slot->bits != 1) {
    return unsupported("destination '" + std::string(ptx_.text(operand.text)) + "' is not a predicate");
  }
  write_register(*slot, value);
}

}  // namespace lynxpp::device::cpu
