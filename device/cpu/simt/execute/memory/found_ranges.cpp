#include "device/cpu/simt/execute/memory/found_ranges.h"

#include "device/cpu/simt/execute/memory/object_pool.h"

namespace lynxpp::device::cpu {
namespace {

constexpr std::size_t most_kept = 1024;  // enough for all blocks that run at one time

ObjectPool<FoundRanges>& range_pool() {
  static auto* const all = new ObjectPool<FoundRanges>(most_kept);
  return *all;
}

}  // namespace

FoundRanges::Pointer FoundRanges::take() {
  std::unique_ptr<FoundRanges> taken = range_pool().take();
  return Pointer(taken != nullptr ? taken.release() : new FoundRanges);
}

void FoundRanges::Release::operator()(FoundRanges* ranges) const {
  range_pool().put(std::unique_ptr<FoundRanges>(ranges));
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
