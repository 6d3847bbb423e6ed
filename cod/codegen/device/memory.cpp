// The cost of a warp's access to global memory, in sectors, by rules measured on hardware.
// device/cpu/simt/execute/counters/counters.h implements them independently, and tests compare both.
#include "cod/codegen/device/generator.h"

namespace lynxpp::cod {

llvm::Value* DeviceGenerator::first_in_sector() {
  if (target_.lane_values) {
    llvm::Value* address = ir_.CreateTrunc(site_value(SiteValue::memory_address), ir_.getInt32Ty());
    llvm::Value* in_sector = ir_.CreateAnd(address, i32(sector_bytes - 1));
    llvm::Value* is_first = ir_.CreateICmpULT(in_sector, site_value(SiteValue::sector_threshold));
    return ir_.CreateZExt(is_first, ir_.getInt32Ty());
  }
  llvm::Value* sector = ir_.CreateUDiv(site_value(SiteValue::memory_address), i64(sector_bytes));
  llvm::Value* first = first_with_value(sector, active_mask(), i32(all_lanes));
  llvm::Value* is_first = ir_.CreateZExt(first, ir_.getInt32Ty());
  return ir_.CreateAnd(is_first, site_value(SiteValue::follows_from_lanes));
}

/// Sectors from the first to the last byte of a bulk copy; 0 for an empty copy and for other accesses.
llvm::Value* DeviceGenerator::bulk_sectors() {
  llvm::Value* bytes = site_value(SiteValue::bulk_size);
  llvm::Value* in_sector = ir_.CreateAnd(site_value(SiteValue::memory_address), i64(sector_bytes - 1));
  llvm::Value* end = ir_.CreateAdd(ir_.CreateAdd(in_sector, bytes), i64(sector_bytes - 1));
  llvm::Value* sectors = ir_.CreateUDiv(end, i64(sector_bytes));
  llvm::Value* none = ir_.CreateIsNull(bytes);
  return ir_.CreateTrunc(ir_.CreateSelect(none, i64(0), sectors), ir_.getInt32Ty());
}

}  // namespace lynxpp::cod
