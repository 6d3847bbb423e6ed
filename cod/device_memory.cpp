// What an access to memory costs its warp: sectors of global memory, wavefronts of shared memory. The rules are those that were measured on
// hardware; device/cpu/simt_counters.h has them too, written independently, and the tests compare both.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "cod/device_generator.h"

namespace lynxpp::cod {
namespace {

constexpr std::uint64_t sector_bytes = 32;
constexpr std::uint32_t row_bytes = 128;  // 32 banks of 4 bytes
constexpr std::uint32_t all_lanes = 0xffffffffu;

}  // namespace

llvm::Value* DeviceGenerator::first_in_sector() {
  if (uses_lane_values_) {
    llvm::Value* address = builder_.CreateTrunc(site_value(SiteValue::memory_address), builder_.getInt32Ty());
    llvm::Value* in_sector = builder_.CreateAnd(address, builder_.getInt32(sector_bytes - 1));
    llvm::Value* is_first = builder_.CreateICmpULT(in_sector, site_value(SiteValue::sector_threshold));
    return builder_.CreateZExt(is_first, builder_.getInt32Ty());
  }
  llvm::Value* sector =
      builder_.CreateUDiv(site_value(SiteValue::memory_address), builder_.getInt64(sector_bytes));
  llvm::Value* first = first_with_value(sector, active_mask_here(), builder_.getInt32(all_lanes));
  return builder_.CreateZExt(first, builder_.getInt32Ty());
}

/// Whether each lane reads what the lane at this distance reads; lanes that are not active agree with all.
llvm::Value* DeviceGenerator::lanes_agree(const BankAccess& access, std::uint32_t distance) {
  llvm::Value* partner = builder_.CreateXor(access.lane, builder_.getInt32(distance));
  llvm::Value* there = builder_.CreateAnd(builder_.CreateLShr(access.mask, partner), builder_.getInt32(1));
  llvm::Value* differs = builder_.CreateICmpNE(shuffled(access.unit, partner, access.mask), access.unit);
  llvm::Value* disagrees = builder_.CreateAnd(differs, builder_.CreateICmpNE(there, builder_.getInt32(0)));
  llvm::Value* votes = builder_.CreateAnd(vote(disagrees, access.mask), access.pair_of_groups);
  return builder_.CreateICmpEQ(votes, builder_.getInt32(0));
}

/// Lanes are served in groups of 32, 16 or 8, by the size of an access. Units are as wide as an access, at least a word: as
/// accesses are aligned, two lanes meet at a bank just when their units do.
DeviceGenerator::BankAccess DeviceGenerator::bank_access() {
  llvm::Type* word = builder_.getInt32Ty();
  const auto constant = [&](std::uint32_t value) { return builder_.getInt32(value); };
  BankAccess access;
  llvm::Value* size = site_value(SiteValue::access_size);
  access.is_wide = builder_.CreateICmpUGT(size, constant(4));
  access.is_widest = builder_.CreateICmpUGT(size, constant(8));
  access.mask = active_mask_here();
  access.lane = special_register(llvm::Intrinsic::nvvm_read_ptx_sreg_laneid);
  llvm::Value* shift = builder_.CreateSelect(access.is_widest, constant(4),
                                             builder_.CreateSelect(access.is_wide, constant(3), constant(2)));
  llvm::Value* address = relative_address_ != nullptr
                             ? relative_address_
                             : builder_.CreateTrunc(site_value(SiteValue::memory_address), word);
  access.unit = builder_.CreateLShr(address, shift);
  access.units_in_row = builder_.CreateLShr(constant(row_bytes), shift);
  access.bank = builder_.CreateAnd(access.unit, builder_.CreateSub(access.units_in_row, constant(1)));

  llvm::Value* half = builder_.CreateAnd(access.lane, constant(16));
  llvm::Value* quarter = builder_.CreateAnd(access.lane, constant(24));
  llvm::Value* own = builder_.CreateSelect(
      access.is_widest, builder_.CreateShl(constant(0xff), quarter),
      builder_.CreateSelect(access.is_wide, builder_.CreateShl(constant(0xffff), half), constant(all_lanes)));
  access.pair_of_groups = builder_.CreateSelect(access.is_widest, builder_.CreateShl(constant(0xffff), half),
                                                constant(all_lanes));
  llvm::Value* first = builder_.CreateSelect(access.is_widest, quarter,
                                             builder_.CreateSelect(access.is_wide, half, constant(0)));
  llvm::Value* first_of_pair = builder_.CreateSelect(access.is_widest, half, constant(0));

  // Loads of two neighbouring groups become one where the lanes agree in pairs.
  llvm::Value* kind = site_value(SiteValue::access_kind);
  access.is_atomic = builder_.CreateICmpEQ(kind, constant(2));
  llvm::Value* is_load = builder_.CreateICmpEQ(kind, constant(0));
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* ask = new_block("ask_neighbours");
  llvm::BasicBlock* end = new_block("grouped");
  builder_.CreateCondBr(builder_.CreateAnd(is_load, access.is_wide), ask, end);
  builder_.SetInsertPoint(ask);
  llvm::Value* near = lanes_agree(access, 1);
  llvm::Value* agree = builder_.CreateOr(near, lanes_agree(access, 2));
  llvm::BasicBlock* asked = builder_.GetInsertBlock();
  builder_.CreateBr(end);
  builder_.SetInsertPoint(end);
  llvm::PHINode* joined = builder_.CreatePHI(builder_.getInt1Ty(), 2);
  joined->addIncoming(builder_.getFalse(), before);
  joined->addIncoming(agree, asked);
  access.group = builder_.CreateSelect(joined, access.pair_of_groups, own);
  access.first_lane = builder_.CreateSelect(joined, first_of_pair, first);
  return access;
}

/// The sum over the groups of each group's greatest value.
llvm::Value* DeviceGenerator::sum_of_greatest(const BankAccess& access, llvm::Value* value) {
  llvm::Type* word = builder_.getInt32Ty();
  const auto greatest = [&](std::uint32_t first) {
    llvm::Value* is_here = builder_.CreateICmpEQ(access.first_lane, builder_.getInt32(first));
    llvm::Value* own = builder_.CreateSelect(is_here, value, builder_.getInt32(0));
    return extreme_over(access.mask, own, Api::warp_max, Type::u32);
  };
  llvm::Value* total = greatest(0);
  for (const auto& [condition, lanes] : {std::pair(access.is_wide, std::vector<std::uint32_t>{16}),
                                         std::pair(access.is_widest, std::vector<std::uint32_t>{8, 24})}) {
    llvm::BasicBlock* before = builder_.GetInsertBlock();
    llvm::BasicBlock* more = new_block("more_groups");
    llvm::BasicBlock* end = new_block("summed");
    builder_.CreateCondBr(condition, more, end);
    builder_.SetInsertPoint(more);
    llvm::Value* sum = total;
    for (const std::uint32_t first : lanes) sum = builder_.CreateAdd(sum, greatest(first));
    llvm::BasicBlock* last = builder_.GetInsertBlock();
    builder_.CreateBr(end);
    builder_.SetInsertPoint(end);
    llvm::PHINode* phi = builder_.CreatePHI(word, 2);
    phi->addIncoming(total, before);
    phi->addIncoming(sum, last);
    total = phi;
  }
  return total;
}

/// Without conflicts each group that has lanes takes one: as many as there are groups.
llvm::Value* DeviceGenerator::count_groups(const BankAccess& access) {
  llvm::Value* below = special_register(llvm::Intrinsic::nvvm_read_ptx_sreg_lanemask_lt);
  llvm::Value* lower = builder_.CreateAnd(builder_.CreateAnd(access.mask, access.group), below);
  llvm::Value* leads = builder_.CreateICmpEQ(lower, builder_.getInt32(0));
  return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, vote(leads, access.mask));
}

/// Whether no two lanes of a group meet at a bank with different units, as far as that is quickly seen: the group's units lie in one row's length from
/// that of its lowest lane on.
llvm::Value* DeviceGenerator::surely_without_conflict(const BankAccess& access) {
  llvm::Value* lanes = builder_.CreateAnd(access.mask, access.group);
  llvm::Value* lowest = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, lanes, builder_.getTrue());
  llvm::Value* distance = builder_.CreateSub(access.unit, shuffled(access.unit, lowest, access.mask));
  llvm::Value* is_near = builder_.CreateICmpULT(distance, access.units_in_row);
  llvm::Value* all = builder_.CreateICmpEQ(vote(is_near, access.mask), access.mask);
  return builder_.CreateAnd(all, builder_.CreateNot(access.is_atomic));
}

llvm::Value* DeviceGenerator::bank_wavefronts(bool conflicts_only) {
  require(70, 60);
  llvm::Type* word = builder_.getInt32Ty();
  const BankAccess access = bank_access();
  llvm::Value* groups = count_groups(access);
  llvm::Value* quick = surely_without_conflict(access);
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* slow = new_block("perhaps_conflicts");
  llvm::BasicBlock* end = new_block("wavefronts");
  builder_.CreateCondBr(quick, end, slow);
  builder_.SetInsertPoint(slow);
  // Of the lanes at one unit the lowest stands for all; atomic operations are made one lane after the other.
  const auto same = [&](llvm::Value* value) {
    return builder_.CreateAnd(
        assembly("match.any.sync.b32 $0, $1, $2;", word, {value, access.mask}, Effect::convergent),
        access.group);
  };
  llvm::Value* below = special_register(llvm::Intrinsic::nvvm_read_ptx_sreg_lanemask_lt);
  llvm::Value* lower = builder_.CreateAnd(same(access.unit), below);
  llvm::Value* stands =
      builder_.CreateOr(builder_.CreateICmpEQ(lower, builder_.getInt32(0)), access.is_atomic);
  llvm::Value* standing = vote(stands, access.mask);
  llvm::Value* at_bank = builder_.CreateAnd(same(access.bank), standing);
  llvm::Value* counted =
      sum_of_greatest(access, builder_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, at_bank));
  llvm::BasicBlock* slow_end = builder_.GetInsertBlock();
  builder_.CreateBr(end);
  builder_.SetInsertPoint(end);
  llvm::PHINode* made = builder_.CreatePHI(word, 2);
  made->addIncoming(groups, before);
  made->addIncoming(counted, slow_end);
  return conflicts_only ? builder_.CreateSub(made, groups) : made;
}

}  // namespace lynxpp::cod
