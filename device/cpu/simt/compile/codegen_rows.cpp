// Lane addresses known without looking at every lane: most are a value that is uniform in each half warp,
// plus a constant times the lane.
//
// An address is traced through the LLVM instructions that compute it, back to uniform values and the thread's
// index. The arithmetic is then done for the first lane of each half instead of for all 32 lanes. Only helper
// calls still need the vectors, and recompute them.
#include <llvm/Analysis/VectorUtils.h>

#include <cstdlib>

#include "device/cpu/simt/compile/codegen.h"
#include "device/cpu/simt/compile/codegen_region.h"

namespace lynxpp::device::cpu {
namespace {

using Value = llvm::Value;
using llvm::Instruction;

unsigned width(Value* value) { return value->getType()->getScalarSizeInBits(); }

/// Returns the value of all lanes if it is a constant.
std::optional<std::int64_t> constant_splat(Value* value) {
  const auto* const number = llvm::dyn_cast_or_null<llvm::ConstantInt>(llvm::getSplatValue(value));
  if (number == nullptr || number->getBitWidth() > 64) return std::nullopt;
  return number->getSExtValue();
}

}  // namespace

/// Row of a constant vector, such as the lane numbers.
std::optional<FunctionCodegen::LaneRow> FunctionCodegen::row_of_constants(Value* value) {
  const auto* const numbers = llvm::dyn_cast<llvm::ConstantDataVector>(value);
  if (numbers == nullptr || !numbers->getElementType()->isIntegerTy()) return std::nullopt;
  const auto at = [&](unsigned lane) { return numbers->getElementAsInteger(lane); };
  const std::uint64_t step = at(1) - at(0);
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if (at(lane) != at(lane / half_warp * half_warp) + step * (lane % half_warp)) return std::nullopt;
  }
  LaneRow row{.step = static_cast<std::int64_t>(step), .holds = builder_.getTrue()};
  for (unsigned half = 0; half < 2; ++half)
    row.first[half] = builder_.getIntN(width(value), at(half * half_warp));
  return row;
}

/// In most blocks x increments by lane, and y and z are uniform.
FunctionCodegen::LaneRow FunctionCodegen::row_of_index(unsigned axis) {
  LaneRow row{.step = axis == 0 ? 1 : 0, .holds = region_->has_rows};
  for (unsigned half = 0; half < 2; ++half)
    row.first[half] = context_load(
        offsetof(WarpContext, tid) + (axis * warp_size + half * half_warp) * sizeof(std::uint32_t), 32);
  return row;
}

std::optional<FunctionCodegen::LaneRow> FunctionCodegen::row_of_sum(const Instruction& sum) {
  const std::optional<LaneRow> a = row_of(sum.getOperand(0));
  const std::optional<LaneRow> b = a ? row_of(sum.getOperand(1)) : std::nullopt;
  if (!b) return std::nullopt;
  const bool subtracts = sum.getOpcode() == Instruction::Sub;
  LaneRow row{.step = subtracts ? a->step - b->step : a->step + b->step,
              .holds = builder_.CreateAnd(a->holds, b->holds)};
  for (unsigned half = 0; half < 2; ++half)
    row.first[half] = subtracts ? builder_.CreateSub(a->first[half], b->first[half])
                                : builder_.CreateAdd(a->first[half], b->first[half]);
  return row;
}

/// Row of a product with a constant, or of values that are uniform in half a warp.
std::optional<FunctionCodegen::LaneRow> FunctionCodegen::row_of_product(const Instruction& product) {
  const bool shifts = product.getOpcode() == Instruction::Shl;
  const std::optional<LaneRow> a = row_of(product.getOperand(0));
  const std::optional<LaneRow> b = a ? row_of(product.getOperand(1)) : std::nullopt;
  if (!b) return std::nullopt;
  LaneRow row{.holds = builder_.CreateAnd(a->holds, b->holds)};
  for (unsigned half = 0; half < 2; ++half)
    row.first[half] = shifts ? builder_.CreateShl(a->first[half], b->first[half])
                             : builder_.CreateMul(a->first[half], b->first[half]);
  if (a->step == 0 && b->step == 0) return row;
  const std::optional<std::int64_t> left = constant_splat(product.getOperand(0));
  const std::optional<std::int64_t> right = constant_splat(product.getOperand(1));
  constexpr std::int64_t largest = 1 << 16;  // larger steps are not consecutive accesses
  if (shifts && (!right || *right < 0 || *right > 16)) return std::nullopt;
  if (!shifts && !left && !right) return std::nullopt;
  const std::int64_t factor = shifts ? std::int64_t{1} << *right : right ? *right : *left;
  const std::int64_t step = right ? a->step : b->step;
  if (std::abs(factor) > largest || std::abs(step) > largest) return std::nullopt;
  row.step = step * factor;
  return row;
}

/// Widening preserves a row unless its values wrap around within the row.
std::optional<FunctionCodegen::LaneRow> FunctionCodegen::row_of_cast(const llvm::CastInst& cast) {
  std::optional<LaneRow> row = row_of(cast.getOperand(0));
  if (!row) return std::nullopt;
  const bool is_signed = cast.getOpcode() == Instruction::SExt;
  const unsigned from = width(cast.getOperand(0));
  const std::int64_t farthest = row->step * (half_warp - 1);
  if (!is_signed && cast.getOpcode() != Instruction::ZExt && cast.getOpcode() != Instruction::Trunc)
    return std::nullopt;
  if (from > 64 || width(const_cast<llvm::CastInst*>(&cast)) > 64) return std::nullopt;
  for (Value*& first : row->first) {
    if (cast.getOpcode() != Instruction::Trunc && farthest != 0) {
      const llvm::Intrinsic::ID id = is_signed      ? llvm::Intrinsic::sadd_with_overflow
                                     : farthest > 0 ? llvm::Intrinsic::uadd_with_overflow
                                                    : llvm::Intrinsic::usub_with_overflow;
      const std::int64_t distance = !is_signed && farthest < 0 ? -farthest : farthest;
      Value* const end = builder_.CreateBinaryIntrinsic(
          id, first, llvm::ConstantInt::get(first->getType(), static_cast<std::uint64_t>(distance), true));
      row->holds = builder_.CreateAnd(row->holds, builder_.CreateNot(builder_.CreateExtractValue(end, 1)));
    }
    first = builder_.CreateCast(cast.getOpcode(), first, cast.getType()->getScalarType());
  }
  return row;
}

void FunctionCodegen::note_index(const Value* index, unsigned axis) {
  if (region_ != nullptr) region_->indices[index] = axis;
}

void FunctionCodegen::note_register(const Value* load, std::uint32_t id) {
  region_->loads[load] = {id, region_->segment};
}

/// Returns the value that was written to the register, if it is the same in every run of the region.
Value* FunctionCodegen::written_value(const Value* load) const {
  const auto found = region_->loads.find(load);
  if (found == region_->loads.end()) return nullptr;
  const auto writer = region_->writers.find(found->second.id);
  const auto writes = region_->writes.find(found->second.id);
  if (writer == region_->writers.end() || writes == region_->writes.end() || writes->second != 1)
    return nullptr;
  return region_->is_dominated_by(found->second.segment, writer->second.segment) ? writer->second.value
                                                                                 : nullptr;
}

std::optional<FunctionCodegen::LaneRow> FunctionCodegen::row_of(Value* value) {
  if (const auto known = rows_.find(value); known != rows_.end()) return known->second;
  const auto find = [&]() -> std::optional<LaneRow> {
    if (width(value) < 16 || width(value) > 64) return std::nullopt;
    if (Value* const number = llvm::getSplatValue(value))
      return LaneRow{.first = {number, number}, .step = 0, .holds = builder_.getTrue()};
    if (llvm::isa<llvm::Constant>(value)) return row_of_constants(value);
    if (const auto axis = region_->indices.find(value); axis != region_->indices.end())
      return row_of_index(axis->second);
    if (Value* const written = written_value(value)) return row_of(written);
    const auto* const instruction = llvm::dyn_cast<Instruction>(value);
    if (instruction == nullptr) return std::nullopt;
    switch (instruction->getOpcode()) {
      case Instruction::Add:
      case Instruction::Sub: return row_of_sum(*instruction);
      case Instruction::Mul:
      case Instruction::Shl: return row_of_product(*instruction);
      default: break;
    }
    if (const auto* const cast = llvm::dyn_cast<llvm::CastInst>(instruction)) return row_of_cast(*cast);
    const auto* const choice = llvm::dyn_cast<llvm::SelectInst>(instruction);
    if (choice == nullptr) return std::nullopt;
    const auto* const condition = llvm::dyn_cast<llvm::Constant>(choice->getCondition());
    if (condition == nullptr) return std::nullopt;
    if (condition->isAllOnesValue()) return row_of(choice->getOperand(1));
    return condition->isNullValue() ? row_of(choice->getOperand(2)) : std::nullopt;
  };
  std::optional<LaneRow> row = find();
  rows_[value] = row;
  return row;
}

/// Recomputes the vector at the current insertion point, as far as rows_ knows its operands.
Value* FunctionCodegen::computed_here(Value* value) {
  const auto known = rows_.find(value);
  if (known == rows_.end() || !known->second || llvm::isa<llvm::Constant>(value)) return value;
  if (Value* const number = llvm::getSplatValue(value)) return splat(number);
  if (Value* const written = written_value(value)) return computed_here(written);
  const auto* const instruction = llvm::dyn_cast<Instruction>(value);
  if (instruction == nullptr) return value;
  Instruction* const copy = instruction->clone();
  for (llvm::Use& operand : copy->operands()) {
    if (operand->getType()->isVectorTy()) operand.set(computed_here(operand.get()));
  }
  return builder_.Insert(copy);
}

}  // namespace lynxpp::device::cpu
