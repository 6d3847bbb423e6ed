// The cost of a warp's access to global memory, in sectors, by rules measured on hardware.
// device/cpu/simt/execute/counters.h implements them independently, and tests compare both.
#include "cod/codegen/device/generator.h"

namespace lynxpp::cod {

llvm::Value* DeviceGenerator::first_in_sector() {
  if (uses_lane_values_) {
    llvm::Value* address = builder_.CreateTrunc(site_value(SiteValue::memory_address), builder_.getInt32Ty());
    llvm::Value* in_sector = builder_.CreateAnd(address, builder_.getInt32(sector_bytes - 1));
    llvm::Value* is_first = builder_.CreateICmpULT(in_sector, site_value(SiteValue::sector_threshold));
    return builder_.CreateZExt(is_first, builder_.getInt32Ty());
  }
  llvm::Value* sector =
      builder_.CreateUDiv(site_value(SiteValue::memory_address), builder_.getInt64(sector_bytes));
  llvm::Value* first = first_with_value(sector, active_mask(), builder_.getInt32(all_lanes));
  llvm::Value* is_first = builder_.CreateZExt(first, builder_.getInt32Ty());
  return builder_.CreateAnd(is_first, site_value(SiteValue::follows_from_lanes));
}

/// Sectors from the first to the last byte of a bulk copy; 0 for an empty copy and for other accesses.
llvm::Value* DeviceGenerator::bulk_sectors() {
  llvm::Value* bytes = site_value(SiteValue::bulk_size);
  llvm::Value* in_sector =
      builder_.CreateAnd(site_value(SiteValue::memory_address), builder_.getInt64(sector_bytes - 1));
  llvm::Value* end =
      builder_.CreateAdd(builder_.CreateAdd(in_sector, bytes), builder_.getInt64(sector_bytes - 1));
  llvm::Value* sectors = builder_.CreateUDiv(end, builder_.getInt64(sector_bytes));
  llvm::Value* none = builder_.CreateICmpEQ(bytes, builder_.getInt64(0));
  return builder_.CreateTrunc(builder_.CreateSelect(none, builder_.getInt64(0), sectors),
                              builder_.getInt32Ty());
}

}  // namespace lynxpp::cod
