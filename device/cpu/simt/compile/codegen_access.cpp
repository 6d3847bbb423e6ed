// Loads and stores of full warps without a call: each half of the warp accesses elements in a row, or all its
// lanes one element. Tiles of 16 columns do so, too. One check serves all lanes; what is anything else, or
// outside of where the instruction's last access was, is a helper's matter.
#include <llvm/IR/MDBuilder.h>

#include "device/cpu/simt/compile/codegen.h"

namespace lynxpp::device::cpu {
namespace {

using Value = llvm::Value;

constexpr unsigned half_warp = warp_size / 2;
constexpr std::uint32_t likely = 2000;

/// Lane i of both halves: element i × step of a vector, from `first` on.
llvm::SmallVector<int> every(unsigned first, unsigned step, unsigned count) {
  llvm::SmallVector<int> places;
  for (unsigned i = 0; i < count; ++i) places.push_back(static_cast<int>(first + i * step));
  return places;
}

}  // namespace

/// The opcode is plain: what other threads may wait for, or must see in an order, is not moved by LLVM.
bool FunctionCodegen::is_inline_access(const Access& access) const {
  if (region_ == nullptr || access.kind == AddressKind::local || access.addresses == nullptr) return false;
  if (program_.accesses[again_->first].in_cluster) return false;
  for (const std::string_view modifier : opcode_->modifiers) {
    if (modifier == "volatile" || modifier == "relaxed" || modifier == "acquire" || modifier == "release" ||
        modifier == "mmio")
      return false;
  }
  return true;
}

/// Of the lanes' addresses, or what they are a constant away from.
FunctionCodegen::LanePattern& FunctionCodegen::pattern_of(Value* addresses) {
  LanePattern& pattern = patterns_[addresses];
  if (pattern.differences != nullptr) return pattern;
  llvm::SmallVector<int> leaders;
  for (unsigned lane = 0; lane < warp_size; ++lane) leaders.push_back(lane < half_warp ? 0 : half_warp);
  for (unsigned half = 0; half < 2; ++half)
    pattern.first[half] = builder_.CreateExtractElement(addresses, std::uint64_t{half} * half_warp);
  pattern.differences = builder_.CreateSub(addresses, builder_.CreateShuffleVector(addresses, leaders));
  return pattern;
}

/// Whether each lane of a half is `bytes` behind the one before it.
Value* FunctionCodegen::has_steps(LanePattern& pattern, unsigned bytes) {
  Value*& known = pattern.steps[bytes];
  if (known != nullptr) return known;
  const unsigned bits = pattern.differences->getType()->getScalarSizeInBits();
  llvm::SmallVector<llvm::Constant*> steps;
  for (unsigned lane = 0; lane < warp_size; ++lane)
    steps.push_back(
        llvm::ConstantInt::get(builder_.getIntNTy(bits), std::uint64_t{lane % half_warp} * bytes));
  Value* const others = builder_.CreateICmpNE(pattern.differences, llvm::ConstantVector::get(steps));
  known = builder_.CreateICmpEQ(mask_of(others), constant32(0));
  return known;
}

FunctionCodegen::HalfWarps FunctionCodegen::half_warps(const Access& access, unsigned bytes) {
  HalfWarps halves;
  const bool is_shared = access.kind == AddressKind::shared;
  Value* base = access.base != nullptr ? access.base : access.addresses;
  if (is_shared) base = resize(base, 32, false);
  halves.pattern = &pattern_of(base);
  Value* begin = nullptr;
  if (is_shared) {
    begin = builder_.CreateLoad(builder_.getPtrTy(), context_pointer(offsetof(WarpContext, shared)));
    halves.room = context_load(offsetof(WarpContext, shared_bytes), 64);
  } else {
    Value* const ranges =
        builder_.CreateLoad(builder_.getPtrTy(), context_pointer(offsetof(WarpContext, ranges)));
    const std::uint64_t at = std::uint64_t{program_.accesses[again_->first].index} * sizeof(AddressRange);
    const auto member = [&](std::size_t offset) {
      return builder_.CreateLoad(builder_.getInt64Ty(), builder_.CreateConstInBoundsGEP1_64(
                                                            builder_.getInt8Ty(), ranges, at + offset));
    };
    begin = member(offsetof(AddressRange, begin));
    halves.room = member(offsetof(AddressRange, bytes));
  }
  Value* bits = nullptr;
  for (unsigned half = 0; half < 2; ++half) {
    Value* at = halves.pattern->first[half];
    if (access.base != nullptr)
      at = builder_.CreateAdd(at, llvm::ConstantInt::get(at->getType(), access.offset, true));
    if (is_shared) at = builder_.CreateZExt(at, builder_.getInt64Ty());
    bits = bits == nullptr ? at : builder_.CreateOr(bits, at);
    halves.distance[half] = is_shared ? at : builder_.CreateSub(at, begin);
    halves.place[half] = is_shared ? builder_.CreateGEP(builder_.getInt8Ty(), begin, at)
                                   : builder_.CreateIntToPtr(at, builder_.getPtrTy());
  }
  Value* const aligned =
      builder_.CreateICmpEQ(builder_.CreateAnd(bits, builder_.getInt64(bytes - 1)), builder_.getInt64(0));
  halves.is_good = builder_.CreateAnd(aligned, builder_.CreateICmpEQ(active(), constant32(~0u)));
  return halves;
}

/// Whether both halves may access `bytes` from their first lane's address on.
Value* FunctionCodegen::have_room(const HalfWarps& halves, unsigned bytes) {
  Value* const last =
      builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, halves.distance[0], halves.distance[1]);
  Value* const end = builder_.CreateAdd(halves.room, builder_.getInt64(1));
  Value* const limit =
      builder_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, end, builder_.getInt64(bytes));
  return builder_.CreateAnd(halves.is_good, builder_.CreateICmpULT(last, limit));
}

Value* FunctionCodegen::join_halves(Value* low, Value* high) {
  return builder_.CreateShuffleVector(low, high, every(0, 1, warp_size));
}

std::vector<Value*> FunctionCodegen::load_rows(const HalfWarps& halves, unsigned bits, unsigned count) {
  auto* const row =
      llvm::FixedVectorType::get(builder_.getIntNTy(bits), static_cast<unsigned>(half_warp * count));
  std::array<Value*, 2> rows{};
  for (unsigned half = 0; half < 2; ++half)
    rows[half] = builder_.CreateAlignedLoad(row, halves.place[half], llvm::Align(bits / 8));
  std::vector<Value*> values;
  for (unsigned i = 0; i < count; ++i) {
    const auto part = [&](Value* of) {
      return count == 1 ? of : builder_.CreateShuffleVector(of, every(i, count, half_warp));
    };
    values.push_back(join_halves(part(rows[0]), part(rows[1])));
  }
  return values;
}

std::vector<Value*> FunctionCodegen::load_elements(const HalfWarps& halves, unsigned bits, unsigned count) {
  std::vector<Value*> values;
  for (unsigned i = 0; i < count; ++i) {
    std::array<Value*, 2> parts{};
    for (unsigned half = 0; half < 2; ++half) {
      Value* const place = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), halves.place[half],
                                                               std::uint64_t{i} * bits / 8);
      parts[half] = builder_.CreateVectorSplat(
          half_warp, builder_.CreateAlignedLoad(builder_.getIntNTy(bits), place, llvm::Align(bits / 8)));
    }
    values.push_back(join_halves(parts[0], parts[1]));
  }
  return values;
}

/// `otherwise` emits the load by a helper.
std::vector<Value*> FunctionCodegen::emit_inline_load(const Access& access, unsigned bits, unsigned count,
                                                      const LoadEmitter& otherwise) {
  const unsigned bytes = bits / 8 * count;
  const HalfWarps halves = half_warps(access, bytes);
  llvm::MDNode* const weights = llvm::MDBuilder(module_.getContext()).createBranchWeights(likely, 1);
  const auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(module_.getContext(), name, state_->function);
  };
  llvm::BasicBlock* const done = block("loaded");
  std::vector<std::pair<std::vector<Value*>, llvm::BasicBlock*>> ways;
  const auto way = [&](Value* has_pattern, unsigned room, const auto& load) {
    Value* const condition = builder_.CreateAnd(has_pattern, have_room(halves, room));
    llvm::BasicBlock* const yes = block("inline");
    llvm::BasicBlock* const no = block("else");
    builder_.CreateCondBr(condition, yes, no, weights);
    builder_.SetInsertPoint(yes);
    std::vector<Value*> values = load();
    ways.emplace_back(std::move(values), builder_.GetInsertBlock());
    builder_.CreateBr(done);
    builder_.SetInsertPoint(no);
  };
  Value* const in_rows = has_steps(*halves.pattern, bytes);
  Value* const in_elements = has_steps(*halves.pattern, 0);
  way(in_rows, half_warp * bytes, [&] { return load_rows(halves, bits, count); });
  way(in_elements, bytes, [&] { return load_elements(halves, bits, count); });
  std::vector<Value*> values = otherwise();
  ways.emplace_back(std::move(values), builder_.GetInsertBlock());
  builder_.CreateBr(done);
  builder_.SetInsertPoint(done);
  std::vector<Value*> loaded;
  for (unsigned i = 0; i < count; ++i) {
    llvm::PHINode* const value = builder_.CreatePHI(vector_type(bits), 3);
    for (const auto& [each, from] : ways) value->addIncoming(each[i], from);
    loaded.push_back(value);
  }
  return loaded;
}

/// Rows alone: which lane's value stays where several store to one place is a helper's matter.
void FunctionCodegen::emit_inline_store(const Access& access, const std::vector<Value*>& values,
                                        const std::function<void()>& otherwise) {
  const auto count = static_cast<unsigned>(values.size());
  const unsigned bits = values[0]->getType()->getScalarSizeInBits();
  const unsigned bytes = bits / 8 * count;
  const HalfWarps halves = half_warps(access, bytes);
  llvm::MDNode* const weights = llvm::MDBuilder(module_.getContext()).createBranchWeights(likely, 1);
  const auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(module_.getContext(), name, state_->function);
  };
  llvm::BasicBlock* const rows = block("rows");
  llvm::BasicBlock* const others = block("else");
  llvm::BasicBlock* const done = block("stored");
  builder_.CreateCondBr(
      builder_.CreateAnd(has_steps(*halves.pattern, bytes), have_room(halves, half_warp * bytes)), rows,
      others, weights);
  builder_.SetInsertPoint(rows);
  for (unsigned half = 0; half < 2; ++half) {
    Value* row = nullptr;
    for (unsigned i = 0; i < count; ++i) {
      Value* const part = builder_.CreateShuffleVector(values[i], every(half * half_warp, 1, half_warp));
      row = i == 0 ? part : append(row, part);
    }
    if (count > 1) {
      llvm::SmallVector<int> order;
      for (unsigned lane = 0; lane < half_warp; ++lane) {
        for (unsigned i = 0; i < count; ++i) order.push_back(static_cast<int>(i * half_warp + lane));
      }
      row = builder_.CreateShuffleVector(row, order);
    }
    builder_.CreateAlignedStore(row, halves.place[half], llvm::Align(bits / 8));
  }
  builder_.CreateBr(done);
  builder_.SetInsertPoint(others);
  otherwise();
  builder_.CreateBr(done);
  builder_.SetInsertPoint(done);
}

/// `part` has half a warp's elements and `row` a multiple of them.
Value* FunctionCodegen::append(Value* row, Value* part) {
  const auto elements = llvm::cast<llvm::FixedVectorType>(row->getType())->getNumElements();
  llvm::SmallVector<int> widened;
  for (unsigned i = 0; i < elements; ++i) widened.push_back(i < half_warp ? static_cast<int>(i) : -1);
  Value* const wide = elements == half_warp ? part : builder_.CreateShuffleVector(part, widened);
  return builder_.CreateShuffleVector(row, wide, every(0, 1, elements + half_warp));
}

}  // namespace lynxpp::device::cpu
