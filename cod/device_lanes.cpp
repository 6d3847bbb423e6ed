// What lanes find out about the differences of their addresses once, for all accesses with these differences.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/LLVMContext.h>

#include <map>
#include <mutex>

#include "cod/device_generator.h"
#include "cod/nvptx.h"

namespace lynxpp::cod {
namespace {

constexpr std::uint32_t sector_bytes = 32;

}  // namespace

/// From the highest of the lanes `lower`, whose addresses are lower in turn if every lane's distance is positive. A sector's length at most, and
/// where there is no such lane.
DeviceGenerator::LaneDistance DeviceGenerator::distance_from(llvm::Value* lower, llvm::Value* address,
                                                             llvm::Value* mask) {
  llvm::Value* lane = special_register(llvm::Intrinsic::nvvm_read_ptx_sreg_laneid);
  llvm::Value* is_lowest = builder_.CreateICmpEQ(lower, builder_.getInt32(0));
  llvm::Value* highest =
      builder_.CreateSub(builder_.getInt32(31),
                         builder_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, lower, builder_.getFalse()));
  llvm::Value* neighbour = builder_.CreateSelect(is_lowest, lane, highest);
  llvm::Value* distance = builder_.CreateSub(address, shuffled(address, neighbour, mask));
  llvm::Value* ascends = builder_.CreateICmpSGE(distance, builder_.getInt64(0));
  llvm::Value* limited =
      builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, distance, builder_.getInt64(sector_bytes));
  return {builder_.CreateSelect(is_lowest, builder_.getInt32(sector_bytes),
                                builder_.CreateTrunc(limited, builder_.getInt32Ty())),
          ascends};
}

/// The address' distance from the nearest one below it, that of a lower lane at the same place being 0, and a sector's length at most. Lower
/// addresses are in the lane's sector just when the nearest one is, that is, when the lane's place in its sector is not below the
/// distance. So one lane of each sector is the first, wherever the addresses as a whole lie.
llvm::Value* DeviceGenerator::sector_threshold() {
  llvm::Value* address = site_value(SiteValue::memory_address);
  llvm::Value* mask = active_mask_here();
  llvm::Value* below = special_register(llvm::Intrinsic::nvvm_read_ptx_sreg_lanemask_lt);
  const LaneDistance near = distance_from(builder_.CreateAnd(mask, below), address, mask);
  llvm::Value* all_ascend = builder_.CreateICmpEQ(vote(near.ascends, mask), mask);
  llvm::BasicBlock* end = new_block("known");
  std::vector<std::pair<llvm::Value*, llvm::BasicBlock*>> results;
  const auto end_where = [&](llvm::Value* condition, llvm::Value* result) {
    llvm::BasicBlock* other = new_block("any_order");
    results.emplace_back(result, builder_.GetInsertBlock());
    builder_.CreateCondBr(condition, end, other);
    builder_.SetInsertPoint(other);
  };
  end_where(all_ascend, near.limited);
  if (sm_ >= 70) {
    // A warp that covers several rows of a thread block often has the same addresses in each.
    require(70, 60);
    llvm::Value* same = assembly("match.any.sync.b64 $0, $1, $2;", builder_.getInt32Ty(), {address, mask},
                                 Effect::convergent);
    llvm::Value* is_copy = builder_.CreateICmpNE(builder_.CreateAnd(same, below), builder_.getInt32(0));
    llvm::Value* originals = vote(builder_.CreateNot(is_copy), mask);
    const LaneDistance other = distance_from(builder_.CreateAnd(originals, below), address, mask);
    llvm::Value* fits = builder_.CreateOr(is_copy, other.ascends);
    llvm::Value* limited = builder_.CreateSelect(is_copy, builder_.getInt32(0), other.limited);
    end_where(builder_.CreateICmpEQ(vote(fits, mask), mask), limited);
  }
  results.emplace_back(least_distance(mask, address), nullptr);
  results.back().second = builder_.GetInsertBlock();
  builder_.CreateBr(end);
  builder_.SetInsertPoint(end);
  llvm::PHINode* threshold = builder_.CreatePHI(builder_.getInt32Ty(), 3);
  for (const auto& [result, block] : results) threshold->addIncoming(result, block);
  return threshold;
}

/// Of addresses in any order: every lane looks at those of all.
llvm::Value* DeviceGenerator::least_distance(llvm::Value* mask, llvm::Value* address) {
  llvm::Value* own_lane = special_register(llvm::Intrinsic::nvvm_read_ptx_sreg_laneid);
  llvm::Value* least =
      gathered(mask, address, builder_.getInt64(sector_bytes),
               [&](llvm::Value* total, llvm::Value* other, llvm::Value* lane) {
                 llvm::Value* distance = builder_.CreateSub(address, other);
                 llvm::Value* is_below = builder_.CreateICmpSGT(distance, builder_.getInt64(0));
                 llvm::Value* is_same = builder_.CreateICmpEQ(distance, builder_.getInt64(0));
                 llvm::Value* comes_first = builder_.CreateICmpULT(lane, own_lane);
                 llvm::Value* counts = builder_.CreateOr(is_below, builder_.CreateAnd(is_same, comes_first));
                 llvm::Value* nearer = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, distance, total);
                 return builder_.CreateSelect(counts, nearer, total);
               });
  return builder_.CreateTrunc(least, builder_.getInt32Ty());
}

/// From the lowest active lane's. Accesses are aligned, so this is a multiple of their size, and banks counted from the leader's on are the banks
/// in another order, which changes neither who meets nor how many.
llvm::Value* DeviceGenerator::address_from_leader() {
  llvm::Value* address = builder_.CreateTrunc(site_value(SiteValue::memory_address), builder_.getInt32Ty());
  llvm::Value* mask = active_mask_here();
  llvm::Value* leader = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, mask, builder_.getTrue());
  return builder_.CreateSub(address, shuffled(address, leader, mask));
}

void DeviceGenerator::generate_lane_value(SiteValue value) {
  lane_value_ = value;
  generate_body(*new_routine(), {});
  builder_.CreateRetVoid();
}

void DeviceGenerator::write_lane_value(SiteValue value) {
  llvm::Value* result = nullptr;
  if (value == SiteValue::sector_threshold) {
    result = sector_threshold();
  } else {
    relative_address_ = address_from_leader();
    measure_banks();
    result = value == SiteValue::hoisted_conflicts ? banks_.conflicts : banks_.spared;
  }
  const std::string name = std::string(site_prefix) + std::string(name_of(SiteValue::lane_result));
  assembly("mov.b32 " + name + ", $0;", builder_.getVoidTy(), {result}, Effect::volatile_read);
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
