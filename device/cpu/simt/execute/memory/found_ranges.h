// Recently found ranges of global memory. They outlive a launch: a later launch reuses them.
#pragma once

#include <array>
#include <memory>

#include "device/cpu/simt/execute/context.h"
#include "device/cpu/simt/execute/memory/global_memory.h"

namespace lynxpp::device::cpu {

class FoundRanges {
 public:
  struct Release {
    void operator()(FoundRanges* ranges) const;
  };
  using Pointer = std::unique_ptr<FoundRanges, Release>;

  /// Takes ranges for a block runner, for as long as it exists.
  static Pointer take();

  /// Returns WarpContext::known without ranges of another memory or from before the last removal. Must be
  /// called again after each removal.
  AddressRange* of(const GlobalMemory& memory);

 private:
  const GlobalMemory* memory_ = nullptr;
  std::uint64_t removals_ = 0;
  std::array<AddressRange, known_ranges> ranges_;
};

}  // namespace lynxpp::device::cpu
