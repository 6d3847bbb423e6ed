#include "device/cpu/simt/execute/found_ranges.h"

#include <mutex>
#include <vector>

namespace lynxpp::device::cpu {
namespace {

/// Not of threads: what a thread owns may not be made while another one loads a library, whose constructors
/// may wait for a kernel.
struct Kept {
  std::mutex mutex;
  std::vector<std::unique_ptr<FoundRanges>> ranges;
};

/// Never destroyed: launches may run while the process ends.
Kept& kept() {
  static auto* const all = new Kept;
  return *all;
}

}  // namespace

FoundRanges::Pointer FoundRanges::take() {
  {
    const std::lock_guard lock(kept().mutex);
    if (!kept().ranges.empty()) {
      Pointer taken(kept().ranges.back().release());
      kept().ranges.pop_back();
      return taken;
    }
  }
  return Pointer(new FoundRanges);
}

void FoundRanges::GiveBack::operator()(FoundRanges* ranges) const {
  std::unique_ptr<FoundRanges> given(ranges);
  const std::lock_guard lock(kept().mutex);
  kept().ranges.push_back(std::move(given));
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
