// Where kernels have found what they access. What was found outlives the launch: one has what another gave
// back.
#pragma once

#include <array>
#include <memory>

#include "device/cpu/simt/execute/context.h"
#include "device/cpu/simt/execute/global_memory.h"

namespace lynxpp::device::cpu {

class FoundRanges {
 public:
  struct GiveBack {
    void operator()(FoundRanges* ranges) const;
  };
  using Pointer = std::unique_ptr<FoundRanges, GiveBack>;

  /// For one that runs kernels, as long as it does.
  static Pointer take();

  /// WarpContext::known: without those of another memory and those that were found before the last removal.
  /// To be asked for again behind each removal.
  AddressRange* of(const GlobalMemory& memory);

 private:
  const GlobalMemory* memory_ = nullptr;
  std::uint64_t removals_ = 0;
  std::array<AddressRange, known_ranges> ranges_;
};

}  // namespace lynxpp::device::cpu
