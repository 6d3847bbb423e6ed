// The cost of a warp's access to shared memory: bankWavefronts(), bankConflicts(), bankGroupsSpared(). The
// rules were measured on hardware. device/cpu/simt/execute/counters/counters.h implements them independently,
// and tests compare both.
//
// The active lanes compute the results of all these functions once. One reduction decides the common cases:
// lanes of up to 4 bytes whose words are within the length of one row (broadcasts, adjacent words in any
// order), and full warps in which every lane has its own bank (odd strides, permutations, wide accesses). All
// other cases are counted.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "cod/codegen/device/generator.h"

namespace lynxpp::cod {
namespace {

constexpr std::uint32_t word_bytes = 4;
constexpr std::uint32_t row_bytes = 128;    // 32 banks
constexpr int reductions_from = 80;         // compute capability × 10
constexpr std::uint32_t spared_shift = 16;  // of packed counts: conflicts are in the bits below

}  // namespace

/// Lanes are served in groups of 32, 16 or 8, depending on the size of an access. A unit is as wide as an
/// access, but at least a word. Accesses are aligned, so two lanes use the same bank if and only if their
/// units do.
DeviceGenerator::BankAccess DeviceGenerator::bank_access() {
  const auto by_size = [&](const BankAccess& access, llvm::Value* widest, llvm::Value* wide,
                           llvm::Value* narrow) {
    return ir_.CreateSelect(access.is_widest, widest, ir_.CreateSelect(access.is_wide, wide, narrow));
  };
  BankAccess access;
  llvm::Value* size = site_value(SiteValue::access_size);
  llvm::Value* kind = site_value(SiteValue::access_kind);
  access.is_wide = ir_.CreateICmpUGT(size, i32(4));
  access.is_widest = ir_.CreateICmpUGT(size, i32(8));
  access.is_atomic = ir_.CreateICmpEQ(kind, i32(2));
  access.is_load = ir_.CreateICmpEQ(kind, i32(0));
  access.mask = active_mask();
  access.lane = lane_id();
  access.address = relative_address_ != nullptr
                       ? relative_address_
                       : ir_.CreateTrunc(site_value(SiteValue::memory_address), ir_.getInt32Ty());
  llvm::Value* shift = by_size(access, i32(4), i32(3), i32(2));
  access.unit = ir_.CreateLShr(access.address, shift);
  llvm::Value* bank_bits = by_size(access, i32(7), i32(15), i32(31));
  access.bank = ir_.CreateAnd(access.unit, bank_bits);
  access.first_lane = ir_.CreateAnd(access.lane, ir_.CreateXor(bank_bits, i32(31)));
  access.group = by_size(access, ir_.CreateShl(i32(0xff), access.first_lane),
                         ir_.CreateShl(i32(0xffff), access.first_lane), i32(all_lanes));
  access.group_starts = by_size(access, i32(0x01010101), i32(0x00010001), i32(1));
  return access;
}

/// For accesses of up to 4 bytes: true if a lane's word is at least one row above the lowest one. Otherwise
/// no two different words use the same bank.
llvm::Value* DeviceGenerator::leaves_row(const BankAccess& access) {
  llvm::Value* is_part = ir_.CreateICmpULT(site_value(SiteValue::access_size), i32(word_bytes));
  llvm::Value* word =
      ir_.CreateSelect(is_part, ir_.CreateAnd(access.address, i32(~(word_bytes - 1))), access.address);
  llvm::Value* least = nullptr;
  if (target_.sm >= reductions_from) {
    least = extreme_over(access.mask, word, Api::warp_min, Type::u32);
  } else {
    least = shuffled(word, lowest_lane(access.mask), access.mask);
  }
  llvm::Value* is_far = ir_.CreateICmpUGE(ir_.CreateSub(word, least), i32(row_bytes));
  return assembly("vote.sync.any.pred $0, $1, $2;", ir_.getInt1Ty(), {is_far, access.mask},
                  Effect::convergent);
}

/// False if all 32 lanes are active and each has its own bank within its group: then no lanes conflict, no
/// two lanes read the same unit, and no group is spared.
llvm::Value* DeviceGenerator::may_meet(const BankAccess& access) {
  if (target_.sm < reductions_from) return ir_.getTrue();
  llvm::Value* place = ir_.CreateOr(access.bank, access.first_lane);
  llvm::Value* taken = any_lanes_bits(ir_.CreateShl(i32(1), place), access.mask);
  return ir_.CreateICmpNE(taken, i32(all_lanes));
}

/// The bits that are set in any lane of the mask.
llvm::Value* DeviceGenerator::any_lanes_bits(llvm::Value* bits, llvm::Value* mask) {
  if (target_.sm >= reductions_from) {
    require(80, 70);
    return assembly("redux.sync.or.b32 $0, $1, $2;", ir_.getInt32Ty(), {bits, mask}, Effect::convergent);
  }
  return gathered(mask, bits, i32(0), [&](llvm::Value* total, llvm::Value* other, llvm::Value*) {
    return ir_.CreateOr(total, other);
  });
}

/// i1: each active lane of a pair of groups reads the same unit as the lane at this distance; inactive lanes
/// agree with all.
llvm::Value* DeviceGenerator::lanes_agree(const BankAccess& access, llvm::Value* pair,
                                          std::uint32_t distance) {
  llvm::Value* partner = ir_.CreateXor(access.lane, i32(distance));
  llvm::Value* there = ir_.CreateAnd(ir_.CreateLShr(access.mask, partner), i32(1));
  llvm::Value* differs = ir_.CreateICmpNE(shuffled(access.unit, partner, access.mask), access.unit);
  llvm::Value* disagrees = ir_.CreateAnd(differs, ir_.CreateIsNotNull(there));
  llvm::Value* votes = ir_.CreateAnd(vote(disagrees, access.mask), pair);
  return ir_.CreateIsNull(votes);
}

/// Merges adjacent groups of wide loads if their lanes agree in pairs.
void DeviceGenerator::join_groups(BankAccess& access) {
  llvm::Value* half = ir_.CreateAnd(access.lane, i32(16));
  llvm::Value* first = ir_.CreateSelect(access.is_widest, half, i32(0));
  llvm::Value* pair = ir_.CreateSelect(access.is_widest, ir_.CreateShl(i32(0xffff), half), i32(all_lanes));
  llvm::Value* can_join = ir_.CreateAnd(access.is_load, access.is_wide);
  llvm::Value* joined = value_where(can_join, ir_.getFalse(), [&] {
    llvm::Value* near = lanes_agree(access, pair, 1);
    return ir_.CreateOr(near, lanes_agree(access, pair, 2));
  });
  access.group = ir_.CreateSelect(joined, pair, access.group);
  access.first_lane = ir_.CreateSelect(joined, first, access.first_lane);
}

/// The active lanes of the group that use this lane's bank. One vote per bit of the bank index is several
/// times cheaper than match.any.
llvm::Value* DeviceGenerator::lanes_at_bank(const BankAccess& access) {
  llvm::Value* lanes = ir_.CreateAnd(access.mask, access.group);
  const auto with_same = [&](llvm::Value* those, std::uint32_t bit) {
    llvm::Value* own = ir_.CreateTrunc(ir_.CreateLShr(access.bank, bit), ir_.getInt1Ty());
    llvm::Value* set = vote(own, access.mask);
    llvm::Value* same = ir_.CreateSelect(own, set, ir_.CreateNot(set));
    return ir_.CreateAnd(those, same);
  };
  for (std::uint32_t bit = 0; bit < 3; ++bit) lanes = with_same(lanes, bit);
  lanes = value_where(ir_.CreateNot(access.is_widest), lanes, [&] { return with_same(lanes, 3); });
  return value_where(ir_.CreateNot(access.is_wide), lanes, [&] { return with_same(lanes, 4); });
}

/// Counts wavefronts from `served`, the number of units at this lane's bank. Each lane sets `served` bits,
/// starting at its group's first lane; the union over all lanes has one bit per wavefront.
DeviceGenerator::BankCounts DeviceGenerator::counts_of_served(const BankAccess& access, llvm::Value* served) {
  llvm::Value* bits = ir_.CreateLShr(i32(all_lanes), ir_.CreateSub(i32(32), served));
  llvm::Value* fronts = any_lanes_bits(ir_.CreateShl(bits, access.first_lane), access.mask);
  llvm::Value* made = population_count(fronts);
  llvm::Value* groups = population_count(ir_.CreateAnd(fronts, access.group_starts));
  llvm::Value* spared = ir_.CreateSub(population_count(access.group_starts), groups);
  return {ir_.CreateSub(made, groups), ir_.CreateSelect(access.is_wide, spared, i32(0))};
}

/// i1: true if the lane represents all lanes that are served with it. The lowest lane represents each unit;
/// atomic operations are executed one lane at a time.
llvm::Value* DeviceGenerator::represents_unit(const BankAccess& access, llvm::Value* lanes) {
  return value_where(ir_.CreateNot(access.is_atomic), ir_.getTrue(),
                     [&] { return first_with_value(access.unit, access.mask, lanes); });
}

/// Counts exactly for any addresses; packed.
llvm::Value* DeviceGenerator::count_bank_conflicts(BankAccess access) {
  join_groups(access);
  llvm::Value* lanes = lanes_at_bank(access);
  llvm::Value* standing = vote(represents_unit(access, lanes), access.mask);
  llvm::Value* served = population_count(ir_.CreateAnd(lanes, standing));
  return packed(counts_of_served(access, served));
}

llvm::Value* DeviceGenerator::packed(const BankCounts& counts) {
  return ir_.CreateOr(counts.conflicts, ir_.CreateShl(counts.spared, spared_shift));
}

DeviceGenerator::BankCounts DeviceGenerator::unpacked(llvm::Value* counts) {
  return {ir_.CreateAnd(counts, i32((1u << spared_shift) - 1)), ir_.CreateLShr(counts, spared_shift)};
}

/// The packed result of `body` for the site's access, or 0. Tests first whether there are neither conflicts
/// nor spared groups, and then branches to `settled` unless it is null.
llvm::Value* DeviceGenerator::unless_banks_apart(const BankAccess& access, BankValue body,
                                                 llvm::BasicBlock* settled) {
  llvm::BasicBlock* row = new_block("in_row");
  llvm::BasicBlock* apart = new_block("banks_apart");
  llvm::BasicBlock* slow = new_block("perhaps_conflicts");
  llvm::BasicBlock* end = new_block("banks");
  llvm::BasicBlock* none = settled != nullptr ? settled : end;
  leave_if(ir_.CreateOr(access.is_wide, access.is_atomic), apart, row);
  llvm::Value* leaves = leaves_row(access);
  llvm::BasicBlock* row_end = ir_.GetInsertBlock();
  branch(leaves, apart, none);
  llvm::Value* meet = may_meet(access);
  llvm::BasicBlock* apart_end = ir_.GetInsertBlock();
  branch(meet, slow, none);
  llvm::Value* found = (this->*body)(access);
  llvm::BasicBlock* slow_end = ir_.GetInsertBlock();
  go_to(end);
  llvm::PHINode* value = ir_.CreatePHI(ir_.getInt32Ty(), 3);
  value->addIncoming(found, slow_end);
  if (settled != nullptr) return value;
  value->addIncoming(i32(0), row_end);
  value->addIncoming(i32(0), apart_end);
  return value;
}

/// For the active lanes. Branches to `settled`, unless it is null, if there are neither conflicts nor spared
/// groups.
DeviceGenerator::BankCounts DeviceGenerator::measure_banks(llvm::BasicBlock* settled) {
  require(70, 60);
  return unpacked(unless_banks_apart(bank_access(), &DeviceGenerator::count_bank_conflicts, settled));
}

/// The same from hoisted values. Accesses of up to a word cannot spare groups.
DeviceGenerator::BankCounts DeviceGenerator::hoisted_bank_counts() {
  llvm::Value* counts = site_value(SiteValue::hoisted_banks);
  if (measures_banks_) continue_if(ir_.CreateIsNotNull(counts), exit_);
  return unpacked(counts);
}

/// The number of lane groups in which an access of this size is served; 0 if banks do not serve it lane by
/// lane.
llvm::Value* DeviceGenerator::bank_groups() {
  llvm::Value* size = site_value(SiteValue::access_size);
  llvm::Value* wide = ir_.CreateSelect(ir_.CreateICmpUGT(size, i32(8)), i32(4), i32(2));
  llvm::Value* groups = ir_.CreateSelect(ir_.CreateICmpUGT(size, i32(4)), wide, i32(1));
  llvm::Value* follows_from_lanes = ir_.CreateIsNotNull(site_value(SiteValue::follows_from_lanes));
  return ir_.CreateSelect(follows_from_lanes, groups, i32(0));
}

llvm::Value* DeviceGenerator::bank_call(Api api) {
  switch (api) {
    case Api::bank_groups: return bank_groups();
    case Api::bank_groups_spared: return bank_counts().spared;
    case Api::bank_conflicts: return bank_counts().conflicts;
    default: {
      const BankCounts counts = bank_counts();
      llvm::Value* needed = ir_.CreateSub(bank_groups(), counts.spared);
      return ir_.CreateAdd(needed, counts.conflicts);
    }
  }
}

}  // namespace lynxpp::cod
