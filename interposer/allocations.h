// The engine's view of the CUDA device memory that the program allocated, as recorded by the hooks.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "device/allocations.h"
#include "interposer/engine_api.h"
#include "interposer/owned_mutex.h"

namespace lynxpp::interposer {

/// Thread safe.
class AllocationReader {
 public:
  /// `source` is null if the process has no allocations to report.
  explicit AllocationReader(const lynxpp_allocation_source* source) : source_(source) {}

  /// Returns the live allocations, never null. Returns the same object until an allocation changes.
  std::shared_ptr<const device::LiveAllocations> read();

 private:
  const lynxpp_allocation_source* const source_;
  OwnedMutex<std::mutex> mutex_{LockRank::leaf};
  std::shared_ptr<const device::LiveAllocations> last_ LYNXPP_GUARDED_BY(mutex_);
};

/// Returns one line per allocation for the log: "allocation 3: 4096 bytes at 0x7f…, device, main+0x4f". Each
/// line has the full CallSite::chain.
std::string list_allocations(const device::LiveAllocations& allocations);

}  // namespace lynxpp::interposer
