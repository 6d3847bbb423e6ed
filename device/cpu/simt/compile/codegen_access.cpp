// Inline loads and stores of full warps: each half warp accesses consecutive elements, or all its lanes the
// same element. This includes tiles of 16 columns. One check covers all lanes and all accesses of a segment
// through one base register. Helpers handle everything else, including accesses outside the range of the
// instruction's last access.
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <cstdlib>

#include "device/cpu/simt/compile/codegen_region.h"

namespace lynxpp::device::cpu {
namespace {

using ptx::DataType;
using ptx::Op;
using Value = llvm::Value;

constexpr std::uint32_t likely = 2000;
/// Largest displacement between accesses that share a check; accesses farther apart may be to other arrays.
constexpr std::int64_t farthest_in_group = 4096;
constexpr std::uint64_t iterations_ahead = 8;

/// Returns the indices first + i × step for lanes i of both halves.
llvm::SmallVector<int> every(unsigned first, unsigned step, unsigned count) {
  llvm::SmallVector<int> places;
  for (unsigned i = 0; i < count; ++i) places.push_back(static_cast<int>(first + i * step));
  return places;
}

}  // namespace

/// True if the access may be emitted inline. LLVM must not move accesses that other threads wait for or must
/// see in order.
bool FunctionCodegen::is_inline_access(const Access& access) const {
  if (region_ == nullptr || access.kind == AddressKind::local || access.addresses == nullptr) return false;
  if (program_.accesses[again_->first].in_cluster) return false;
  using enum ptx::Modifier;
  return !instruction_->has_any({is_volatile, relaxed, acquire, release, mmio});
}

/// Returns the pattern of the lanes' addresses or of their base.
FunctionCodegen::LanePattern& FunctionCodegen::pattern_of(Value* addresses) {
  LanePattern& pattern = patterns_[addresses];
  if (pattern.first[0] != nullptr) return pattern;
  if (const std::optional<LaneRow> row = row_of(addresses)) {
    pattern.first = row->first;
    pattern.step = row->step;
    pattern.holds = row->holds;
    return pattern;
  }
  llvm::SmallVector<int> leaders;
  for (unsigned lane = 0; lane < warp_size; ++lane) leaders.push_back(lane < half_warp ? 0 : half_warp);
  for (unsigned half = 0; half < 2; ++half)
    pattern.first[half] = builder_.CreateExtractElement(addresses, std::uint64_t{half} * half_warp);
  pattern.differences = builder_.CreateSub(addresses, builder_.CreateShuffleVector(addresses, leaders));
  return pattern;
}

/// Returns whether each lane of a half is `bytes` after the previous lane.
Value* FunctionCodegen::has_steps(LanePattern& pattern, unsigned bytes) {
  Value*& known = pattern.steps[bytes];
  if (known != nullptr) return known;
  if (pattern.step) return known = *pattern.step == bytes ? pattern.holds : builder_.getFalse();
  const unsigned bits = pattern.differences->getType()->getScalarSizeInBits();
  llvm::SmallVector<llvm::Constant*> steps;
  for (unsigned lane = 0; lane < warp_size; ++lane)
    steps.push_back(
        llvm::ConstantInt::get(builder_.getIntNTy(bits), std::uint64_t{lane % half_warp} * bytes));
  Value* const others = builder_.CreateICmpNE(pattern.differences, llvm::ConstantVector::get(steps));
  known = builder_.CreateICmpEQ(mask_of(others), constant32(0));
  return known;
}

/// Returns the extent of the accesses of the same size by the same base register, from the current
/// instruction to the end of its segment: the smallest displacement, and the distance from there to the end
/// of the last access.
std::pair<std::int64_t, std::uint64_t> FunctionCodegen::extent_of(const Access& access,
                                                                  unsigned bytes) const {
  std::int64_t least = access.offset;
  std::int64_t end = access.offset + bytes;
  const auto& instructions = function_.function->body->instructions;
  const bool is_store = opcode_->op == Op::st;
  const ptx::Operand& own = instruction_->operands[is_store ? 0 : 1];
  const auto by_same_register = [&](const ptx::Operand& operand) {
    return operand.kind == ptx::OperandKind::address && !operand.elements.empty() &&
           operand.elements[0].kind == own.elements[0].kind &&
           operand.elements[0].name == own.elements[0].name;
  };
  if (access.base == nullptr || !by_same_register(own)) return {least, bytes};
  const auto first = static_cast<std::uint32_t>(instruction_ - instructions.data()) + 1;
  for (std::uint32_t i = first; i < segment_end_; ++i) {
    const ptx::Instruction& other = instructions[i];
    const ptx::OpcodeTraits& traits = other.traits;
    const bool stores = traits.op == Op::st;
    if (other.guarded() || (traits.op != Op::ld && !stores)) continue;
    const std::size_t at = stores ? 0 : 1;
    if (at >= other.operands.size() || !by_same_register(other.operands[at])) continue;
    const std::int64_t offset = other.operands[at].offset;
    if (bits_of(traits.type) / 8 * traits.vector != bytes || (offset - access.offset) % bytes != 0 ||
        std::abs(offset - access.offset) > farthest_in_group)
      continue;
    least = std::min(least, offset);
    end = std::max(end, offset + bytes);
  }
  return {least, static_cast<std::uint64_t>(end - least)};
}

/// Computes the host pointers of a group and the range that it may access.
void FunctionCodegen::locate_group(AccessGroup& group, const Access& access) {
  const bool is_shared = access.kind == AddressKind::shared;
  Value* begin = nullptr;
  if (is_shared) {
    begin = builder_.CreateLoad(builder_.getPtrTy(), context_pointer(offsetof(WarpContext, shared)));
    group.room = context_load(offsetof(WarpContext, shared_bytes), 64);
  } else {
    Value* const ranges =
        builder_.CreateLoad(builder_.getPtrTy(), context_pointer(offsetof(WarpContext, ranges)));
    const std::uint64_t at = std::uint64_t{program_.accesses[again_->first].index} * sizeof(AddressRange);
    const auto member = [&](std::size_t offset) {
      return builder_.CreateLoad(builder_.getInt64Ty(), builder_.CreateConstInBoundsGEP1_64(
                                                            builder_.getInt8Ty(), ranges, at + offset));
    };
    begin = member(offsetof(AddressRange, begin));
    group.room = member(offsetof(AddressRange, bytes));
  }
  Value* bits = nullptr;
  for (unsigned half = 0; half < 2; ++half) {
    Value* at = group.pattern->first[half];
    if (access.base != nullptr)
      at = builder_.CreateAdd(at, llvm::ConstantInt::get(at->getType(), group.least, true));
    if (is_shared) at = builder_.CreateZExt(at, builder_.getInt64Ty());
    bits = bits == nullptr ? at : builder_.CreateOr(bits, at);
    group.distance[half] = is_shared ? at : builder_.CreateSub(at, begin);
    group.place[half] = is_shared ? builder_.CreateGEP(builder_.getInt8Ty(), begin, at)
                                  : builder_.CreateIntToPtr(at, builder_.getPtrTy());
  }
  group.is_aligned = builder_.CreateICmpEQ(
      builder_.CreateAnd(bits, builder_.getInt64(group.access_bytes - 1)), builder_.getInt64(0));
}

/// Returns the group of an access; its first access is checked for all. The range is that of the first
/// access's last execution: if a group spans two ranges, helpers check each access.
FunctionCodegen::AccessGroup& FunctionCodegen::group_of(const Access& access, unsigned bytes) {
  Value* base = access.base != nullptr ? access.base : access.addresses;
  const std::int64_t offset = access.base != nullptr ? access.offset : 0;
  AccessGroup& group = groups_[{base, access.kind, bytes}];
  const bool is_part = group.room != nullptr && offset >= group.least &&
                       static_cast<std::uint64_t>(offset - group.least) + bytes <= group.bytes &&
                       (offset - group.least) % bytes == 0;
  if (is_part) return group;
  group = {};
  group.access_bytes = bytes;
  std::tie(group.least, group.bytes) = extent_of(access, bytes);
  if (access.base == nullptr) group.least = 0;
  if (access.kind == AddressKind::shared) base = resize(base, 32, false);
  group.pattern = &pattern_of(base);
  locate_group(group, access);
  return group;
}

/// Returns whether all accesses of the group are legal if each lane of a half is `step` bytes after the
/// previous one, and whether they have that step.
Value* FunctionCodegen::may_access(AccessGroup& group, unsigned step) {
  Value*& known = group.conditions[step];
  if (known != nullptr) return known;
  const std::uint64_t bytes = group.bytes + std::uint64_t{step} * (half_warp - 1);
  Value* const last =
      builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, group.distance[0], group.distance[1]);
  Value* const end = builder_.CreateAdd(group.room, builder_.getInt64(1));
  Value* const limit =
      builder_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, end, builder_.getInt64(bytes));
  known = builder_.CreateAnd(builder_.CreateAnd(has_steps(*group.pattern, step), group.is_aligned),
                             builder_.CreateICmpULT(last, limit));
  return known;
}

/// Returns the pointers of an access by full warps.
FunctionCodegen::HalfWarps FunctionCodegen::half_warps(const Access& access, unsigned bytes) {
  HalfWarps halves;
  halves.group = &group_of(access, bytes);
  const std::int64_t offset = (access.base != nullptr ? access.offset : 0) - halves.group->least;
  for (unsigned half = 0; half < 2; ++half)
    halves.place[half] = builder_.CreateConstGEP1_64(builder_.getInt8Ty(), halves.group->place[half],
                                                     static_cast<std::uint64_t>(offset));
  halves.is_full = builder_.CreateICmpEQ(active(), constant32(~0u));
  return halves;
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

/// Prefetches the rows that the warp loads eight iterations later if the address step stays the same.
/// Hardware prefetchers only detect steps within a page; grid-stride loops have larger steps.
void FunctionCodegen::fetch_ahead(const HalfWarps& halves) {
  if (!region_->is_in_loop(region_->segment)) return;
  llvm::IRBuilder<> entry(&state_->function->getEntryBlock(), state_->function->getEntryBlock().begin());
  llvm::AllocaInst* const last = entry.CreateAlloca(entry.getInt64Ty());
  entry.CreateStore(entry.getInt64(0), last);
  Value* const here = builder_.CreatePtrToInt(halves.place[0], builder_.getInt64Ty());
  Value* const step = builder_.CreateSub(here, builder_.CreateLoad(builder_.getInt64Ty(), last));
  builder_.CreateStore(here, last);
  Value* const ahead = builder_.CreateMul(step, builder_.getInt64(iterations_ahead));
  for (Value* const place : halves.place) {
    Value* const fetched = builder_.CreateGEP(builder_.getInt8Ty(), place, ahead);
    builder_.CreateIntrinsic(llvm::Intrinsic::prefetch, {fetched->getType()},
                             {fetched, builder_.getInt32(0), builder_.getInt32(3), builder_.getInt32(1)});
  }
}

/// `otherwise` emits the load through a helper.
std::vector<Value*> FunctionCodegen::emit_inline_load(const Access& access, unsigned bits, unsigned count,
                                                      const LoadEmitter& otherwise) {
  const unsigned bytes = bits / 8 * count;
  const HalfWarps halves = half_warps(access, bytes);
  llvm::MDNode* const weights = llvm::MDBuilder(module_.getContext()).createBranchWeights(likely, 1);
  const auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(module_.getContext(), name, state_->function);
  };
  llvm::BasicBlock* const done = block("loaded");
  std::vector<std::pair<std::vector<Value*>, llvm::BasicBlock*>> paths;
  const auto path = [&](Value* may_access, llvm::MDNode* chances, const auto& load) {
    Value* const condition = builder_.CreateAnd(may_access, halves.is_full);
    llvm::BasicBlock* const yes = block("inline");
    llvm::BasicBlock* const no = block("else");
    builder_.CreateCondBr(condition, yes, no, chances);
    builder_.SetInsertPoint(yes);
    std::vector<Value*> values = load();
    paths.emplace_back(std::move(values), builder_.GetInsertBlock());
    builder_.CreateBr(done);
    builder_.SetInsertPoint(no);
  };
  Value* const in_rows = may_access(*halves.group, bytes);
  Value* const in_elements = may_access(*halves.group, 0);
  // No branch weights: LLVM spills all registers around a path that it considers rare.
  path(in_rows, nullptr, [&] {
    if (access.kind != AddressKind::shared) fetch_ahead(halves);
    return load_rows(halves, bits, count);
  });
  path(in_elements, weights, [&] { return load_elements(halves, bits, count); });
  Access again = access;
  again.addresses = computed_here(access.addresses);
  std::vector<Value*> values = otherwise(again);
  paths.emplace_back(std::move(values), builder_.GetInsertBlock());
  builder_.CreateBr(done);
  builder_.SetInsertPoint(done);
  std::vector<Value*> loaded;
  for (unsigned i = 0; i < count; ++i) {
    llvm::PHINode* const value = builder_.CreatePHI(vector_type(bits), 3);
    for (const auto& [each, from] : paths) value->addIncoming(each[i], from);
    loaded.push_back(value);
  }
  return loaded;
}

/// Inline code covers rows only: if several lanes store to one address, a helper selects the value that
/// remains.
void FunctionCodegen::emit_inline_store(const Access& access, const std::vector<Value*>& values,
                                        const std::function<void(const Access&)>& otherwise) {
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
  builder_.CreateCondBr(builder_.CreateAnd(may_access(*halves.group, bytes), halves.is_full), rows, others,
                        weights);
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
  Access again = access;
  again.addresses = computed_here(access.addresses);
  otherwise(again);
  builder_.CreateBr(done);
  builder_.SetInsertPoint(done);
}

/// True for integer operations on the block's own shared memory, which only one host thread accesses.
bool FunctionCodegen::is_inline_atomic(const Access& access, std::string_view op, DataType type) const {
  return access.kind == AddressKind::shared && is_inline_access(access) && !ptx::is_floating(type) &&
         (bits_of(type) == 32 || bits_of(type) == 64) && op != "cas" && op != "inc" && op != "dec";
}

/// Returns the value that an atomic operation stores.
Value* FunctionCodegen::update(std::string_view op, bool is_signed, Value* old, Value* operand) {
  using llvm::Intrinsic::ID;
  if (op == "add") return builder_.CreateAdd(old, operand);
  if (op == "and") return builder_.CreateAnd(old, operand);
  if (op == "or") return builder_.CreateOr(old, operand);
  if (op == "xor") return builder_.CreateXor(old, operand);
  if (op == "exch") return operand;
  const ID least = is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin;
  const ID most = is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax;
  return builder_.CreateBinaryIntrinsic(op == "min" ? least : most, old, operand);
}

/// Returns whether all lanes are active and access the block's own memory.
Value* FunctionCodegen::are_in_shared(Value* addresses, unsigned bytes) {
  Value* const places = resize(addresses, 32, false);
  Value* const room = context_load(offsetof(WarpContext, shared_bytes), 64);
  Value* const end = builder_.CreateBinaryIntrinsic(
      llvm::Intrinsic::usub_sat, builder_.CreateAdd(room, builder_.getInt64(1)), builder_.getInt64(bytes));
  Value* const outside =
      builder_.CreateICmpUGE(places, splat(builder_.CreateTrunc(end, builder_.getInt32Ty())));
  Value* const misaligned =
      builder_.CreateICmpNE(builder_.CreateAnd(places, splat(32, bytes - 1)), splat(32, 0));
  Value* const bad = mask_of(builder_.CreateOr(outside, misaligned));
  return builder_.CreateAnd(builder_.CreateICmpEQ(bad, constant32(0)),
                            builder_.CreateICmpEQ(active(), constant32(~0u)));
}

/// Emits an atomic operation lane by lane; `otherwise` emits it through a helper. Both return the old values.
/// Addresses are reloaded from memory: if they are extracted from vectors, the processor speculates loads
/// past stores to the same address and must replay them, which was three times as slow.
Value* FunctionCodegen::emit_inline_atomic(const Access& access, std::string_view op, DataType type,
                                           Value* operand, const std::function<Value*()>& otherwise) {
  const unsigned bits = bits_of(type);
  llvm::MDNode* const weights = llvm::MDBuilder(module_.getContext()).createBranchWeights(likely, 1);
  const auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(module_.getContext(), name, state_->function);
  };
  llvm::BasicBlock* const lanes = block("lanes");
  llvm::BasicBlock* const others = block("else");
  llvm::BasicBlock* const done = block("updated");
  builder_.CreateCondBr(are_in_shared(access.addresses, bits / 8), lanes, others, weights);
  builder_.SetInsertPoint(lanes);
  Value* const shared =
      builder_.CreateLoad(builder_.getPtrTy(), context_pointer(offsetof(WarpContext, shared)));
  Value* const addresses = spill(4, access.addresses);
  Value* before = llvm::PoisonValue::get(vector_type(bits));
  for (std::uint64_t lane = 0; lane < warp_size; ++lane) {
    Value* const spilled =
        builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), addresses, lane * sizeof(std::uint64_t));
    Value* const address =
        builder_.CreateAlignedLoad(builder_.getInt64Ty(), spilled, llvm::Align(8), /*isVolatile=*/true);
    Value* const place = builder_.CreateGEP(builder_.getInt8Ty(), shared, address);
    Value* const old = builder_.CreateAlignedLoad(builder_.getIntNTy(bits), place, llvm::Align(bits / 8));
    Value* const next = update(op, is_signed(type), old, builder_.CreateExtractElement(operand, lane));
    builder_.CreateAlignedStore(next, place, llvm::Align(bits / 8));
    before = builder_.CreateInsertElement(before, old, lane);
  }
  builder_.CreateBr(done);
  builder_.SetInsertPoint(others);
  Value* const called = otherwise();
  llvm::BasicBlock* const from = builder_.GetInsertBlock();
  builder_.CreateBr(done);
  builder_.SetInsertPoint(done);
  llvm::PHINode* const value = builder_.CreatePHI(vector_type(bits), 2);
  value->addIncoming(before, lanes);
  value->addIncoming(called, from);
  return value;
}

/// Appends half a warp's elements `part` to `row`, which has a multiple of them.
Value* FunctionCodegen::append(Value* row, Value* part) {
  const auto elements = llvm::cast<llvm::FixedVectorType>(row->getType())->getNumElements();
  llvm::SmallVector<int> widened;
  for (unsigned i = 0; i < elements; ++i) widened.push_back(i < half_warp ? static_cast<int>(i) : -1);
  Value* const wide = elements == half_warp ? part : builder_.CreateShuffleVector(part, widened);
  return builder_.CreateShuffleVector(row, wide, every(0, 1, elements + half_warp));
}

}  // namespace lynxpp::device::cpu
