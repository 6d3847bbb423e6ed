// Values that depend only on the differences of the lanes' addresses, computed once for all accesses with the
// same differences.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/LLVMContext.h>

#include <map>
#include <mutex>

#include "cod/codegen/device/generator.h"
#include "cod/codegen/device/nvptx.h"
#include "cod/device_code.h"

namespace lynxpp::cod {

/// The distance from the highest of the lanes in `lower`, whose addresses ascend if every lane's distance is
/// positive. At most the length of a sector, also if there is no such lane.
DeviceGenerator::LaneDistance DeviceGenerator::distance_from(llvm::Value* lower, llvm::Value* address,
                                                             llvm::Value* mask) {
  llvm::Value* neighbour = highest_lane(lower, lane_id());
  llvm::Value* is_lowest = ir_.CreateIsNull(lower);
  llvm::Value* distance = ir_.CreateSub(address, shuffled(address, neighbour, mask));
  llvm::Value* ascends = ir_.CreateICmpSGE(distance, i64(0));
  llvm::Value* limited = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, distance, i64(sector_bytes));
  return {ir_.CreateSelect(is_lowest, i32(sector_bytes), ir_.CreateTrunc(limited, ir_.getInt32Ty())),
          ascends};
}

/// The distance from the nearest address below; 0 if a lower lane has the same address; at most the length of
/// a sector. A lower address is in the lane's sector if and only if the nearest one is, that is, if the
/// lane's offset in its sector is at least this distance. Thus exactly one lane per sector is the first,
/// wherever the addresses are.
llvm::Value* DeviceGenerator::sector_threshold() {
  llvm::Value* address = site_value(SiteValue::memory_address);
  llvm::Value* mask = active_mask_here();
  llvm::Value* below = lower_lanes();
  const LaneDistance near = distance_from(ir_.CreateAnd(mask, below), address, mask);
  llvm::Value* all_ascend = ir_.CreateICmpEQ(vote(near.ascends, mask), mask);
  llvm::BasicBlock* end = new_block("known");
  std::vector<std::pair<llvm::Value*, llvm::BasicBlock*>> results;
  const auto end_where = [&](llvm::Value* condition, llvm::Value* result) {
    llvm::BasicBlock* other = new_block("any_order");
    results.emplace_back(result, ir_.GetInsertBlock());
    leave_if(condition, end, other);
  };
  end_where(all_ascend, near.limited);
  if (target_.sm >= 70) {
    // A warp that covers several rows of a thread block often has the same addresses in each.
    require(70, 60);
    llvm::Value* same =
        assembly("match.any.sync.b64 $0, $1, $2;", ir_.getInt32Ty(), {address, mask}, Effect::convergent);
    llvm::Value* is_copy = ir_.CreateIsNotNull(ir_.CreateAnd(same, below));
    llvm::Value* originals = vote(ir_.CreateNot(is_copy), mask);
    const LaneDistance other = distance_from(ir_.CreateAnd(originals, below), address, mask);
    llvm::Value* fits = ir_.CreateOr(is_copy, other.ascends);
    llvm::Value* limited = ir_.CreateSelect(is_copy, i32(0), other.limited);
    end_where(ir_.CreateICmpEQ(vote(fits, mask), mask), limited);
  }
  results.emplace_back(least_distance(mask, address), nullptr);
  results.back().second = ir_.GetInsertBlock();
  go_to(end);
  llvm::PHINode* threshold = ir_.CreatePHI(ir_.getInt32Ty(), 3);
  for (const auto& [result, block] : results) threshold->addIncoming(result, block);
  return threshold;
}

/// For addresses in any order: every lane compares with all others.
llvm::Value* DeviceGenerator::least_distance(llvm::Value* mask, llvm::Value* address) {
  llvm::Value* own_lane = lane_id();
  llvm::Value* least = gathered(
      mask, address, i64(sector_bytes), [&](llvm::Value* total, llvm::Value* other, llvm::Value* lane) {
        llvm::Value* distance = ir_.CreateSub(address, other);
        llvm::Value* is_below = ir_.CreateICmpSGT(distance, i64(0));
        llvm::Value* is_same = ir_.CreateIsNull(distance);
        llvm::Value* comes_first = ir_.CreateICmpULT(lane, own_lane);
        llvm::Value* counts = ir_.CreateOr(is_below, ir_.CreateAnd(is_same, comes_first));
        llvm::Value* nearer = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, distance, total);
        return ir_.CreateSelect(counts, nearer, total);
      });
  return ir_.CreateTrunc(least, ir_.getInt32Ty());
}

/// The offset from the lowest active lane's address. Accesses are aligned, so this is a multiple of their
/// size, and counting banks from the leader's only permutes them: conflicts stay the same.
llvm::Value* DeviceGenerator::address_from_leader() {
  llvm::Value* address = ir_.CreateTrunc(site_value(SiteValue::memory_address), ir_.getInt32Ty());
  llvm::Value* mask = active_mask_here();
  llvm::Value* leader = lowest_lane(mask);
  return ir_.CreateSub(address, shuffled(address, leader, mask));
}

/// The lanes at this lane's bank, or 0 in all lanes if no lanes conflict, whichever subset makes the access.
/// Lanes at one unit count once, and which of them are active is only known at the access. If such lanes
/// exist, lanes that share their bank exclude themselves.
llvm::Value* DeviceGenerator::bank_lanes_apart(BankAccess access) {
  llvm::Value* lanes = lanes_at_bank(access);
  llvm::Value* standing = vote(represents_unit(access, lanes), access.mask);
  llvm::Value* served = ir_.CreateAnd(lanes, standing);
  llvm::Value* more = ir_.CreateAnd(served, ir_.CreateSub(served, i32(1)));
  llvm::Value* meets = ir_.CreateIsNotNull(more);
  llvm::Value* some_meet = ir_.CreateIsNotNull(vote(meets, access.mask));
  llvm::Value* own = ir_.CreateShl(i32(1), access.lane);
  llvm::Value* others = ir_.CreateAnd(lanes, ir_.CreateNot(own));
  llvm::Value* has_own = ir_.CreateOr(ir_.CreateICmpEQ(standing, access.mask), ir_.CreateIsNull(others));
  llvm::Value* mask = ir_.CreateSelect(has_own, lanes, others);
  return ir_.CreateSelect(some_meet, mask, i32(0));
}

/// Packed counts of an access by a subset of the lanes that computed bank_lanes.
llvm::Value* DeviceGenerator::banks_of_some_lanes() {
  require(70, 60);
  const BankAccess access = bank_access();
  llvm::Value* lanes = site_value(SiteValue::bank_lanes);
  llvm::Value* all = ir_.CreateICmpEQ(access.mask, i32(0xffffffffu));
  llvm::Value* is_apart = ir_.CreateIsNull(lanes);
  llvm::Value* has_groups = ir_.CreateOr(all, ir_.CreateNot(access.is_wide));
  llvm::Value* is_known = ir_.CreateAnd(is_apart, has_groups);
  return value_where(ir_.CreateNot(is_known), i32(0), [&] {
    llvm::Value* own = ir_.CreateShl(i32(1), access.lane);
    llvm::Value* here = ir_.CreateAnd(ir_.CreateOr(lanes, own), access.mask);
    llvm::Value* lacks_own =
        ir_.CreateAnd(ir_.CreateIsNull(ir_.CreateAnd(lanes, own)), ir_.CreateNot(is_apart));
    llvm::Value* share = ir_.CreateIsNotNull(vote(lacks_own, access.mask));
    llvm::Value* counted = value_where(share, here, [&] {
      llvm::Value* same = assembly("match.any.sync.b32 $0, $1, $2;", ir_.getInt32Ty(),
                                   {access.unit, access.mask}, Effect::convergent);
      llvm::Value* below = lower_lanes();
      llvm::Value* before = ir_.CreateAnd(ir_.CreateAnd(same, below), here);
      llvm::Value* stands = ir_.CreateIsNull(before);
      return ir_.CreateAnd(here, vote(stands, access.mask));
    });
    return packed(counts_of_served(access, population_count(counted)));
  });
}

void DeviceGenerator::generate_lane_value(SiteValue value) {
  lane_value_ = value;
  generate_body(*new_routine(), {});
  ir_.CreateRetVoid();
}

void DeviceGenerator::write_lane_value(SiteValue value) {
  llvm::Value* result = nullptr;
  if (value == SiteValue::sector_threshold) {
    result = sector_threshold();
  } else if (value == SiteValue::banks_of_some_lanes) {
    result = banks_of_some_lanes();
  } else {
    relative_address_ = address_from_leader();
    require(70, 60);
    result = unless_banks_apart(bank_access(),
                                value == SiteValue::bank_lanes ? &DeviceGenerator::bank_lanes_apart
                                                               : &DeviceGenerator::count_bank_conflicts,
                                nullptr);
  }
  const std::string name = std::string(site_prefix) + std::string(name_of(SiteValue::lane_result));
  assembly("mov.b32 " + name + ", $0;", ir_.getVoidTy(), {result}, Effect::volatile_read);
}

Result<HandlerCode> lower_lane_value(SiteValue value, int sm) {
  static std::mutex mutex;
  static std::map<std::pair<SiteValue, int>, Result<HandlerCode>> known;
  const std::lock_guard lock(mutex);
  const auto found = known.find({value, sm});
  if (found != known.end()) return found->second;
  llvm::LLVMContext context;
  llvm::Module module("lynxpp", context);
  prepare_nvptx_module(module);
  const Program program;
  DeviceGenerator generator(module, program, {sm});
  generator.generate_lane_value(value);
  const Result<std::string> ptx = emit_ptx(module, sm);
  Result<HandlerCode> code = ptx ? Result<HandlerCode>(HandlerCode{*ptx}) : Result<HandlerCode>(ptx.error());
  return known.emplace(std::pair(value, sm), std::move(code)).first->second;
}

}  // namespace lynxpp::cod
