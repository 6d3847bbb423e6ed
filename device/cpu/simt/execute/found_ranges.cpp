#include "device/cpu/simt/execute/found_ranges.h"

#include "device/cpu/simt/execute/kept.h"

namespace lynxpp::device::cpu {
namespace {

constexpr std::size_t most_kept = 1024;  // enough for all blocks that run at one time

Kept<FoundRanges>& kept_ranges() {
  static auto* const all = new Kept<FoundRanges>(most_kept);
  return *all;
}

}  // namespace

FoundRanges::Pointer FoundRanges::take() {
  std::unique_ptr<FoundRanges> taken = kept_ranges().take();
  return Pointer(taken != nullptr ? taken.release() : new FoundRanges);
}

void FoundRanges::GiveBack::operator()(FoundRanges* ranges) const {
  kept_ranges().give(std::unique_ptr<FoundRanges>(ranges));
}

AddressRange* FoundRanges::of(const GlobalMemory& memory) {
  const std::uint64_t removals = memory.removals();
  if (memory_ != &memory || removals_ != removals) {
    memory_ = &memory;
    removals_ = removals;
    ranges_.fill({});
  }
  return ranges_.data();
}

}  // namespace lynxpp::device::cpu
