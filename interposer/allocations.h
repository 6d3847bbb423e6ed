// The engine's view of the memory that the hooks have seen the program allocate on the cuda device.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "device/allocations.h"
#include "interposer/engine_api.h"

namespace lynxpp::interposer {

/// Thread safe.
class AllocationReader {
 public:
  /// Null: there are none.
  explicit AllocationReader(const lynxpp_allocation_source* source) : source_(source) {}

  /// Never null; the same object as before while nothing has changed.
  std::shared_ptr<const device::LiveAllocations> read();

 private:
  const lynxpp_allocation_source* const source_;
  std::mutex mutex_;
  std::shared_ptr<const device::LiveAllocations> last_;
};

/// One line for each allocation, for the log: "allocation 3: 4096 bytes at 0x7f…, device, main+0x4f". With
/// the whole CallSite::chain.
std::string list_allocations(const device::LiveAllocations& allocations);

}  // namespace lynxpp::interposer
