#include "device/cpu/simt/execute/found_ranges.h"

#include <array>
#include <memory>

#include "device/cpu/simt/execute/context.h"

namespace lynxpp::device::cpu {
namespace {

struct FoundRanges {
  const GlobalMemory* memory = nullptr;
  std::uint64_t removals = 0;
  std::array<AddressRange, known_ranges> ranges;
};

}  // namespace

AddressRange* ranges_found_by_thread(const GlobalMemory& memory) {
  thread_local std::unique_ptr<FoundRanges> found;
  if (found == nullptr) found = std::make_unique<FoundRanges>();
  const std::uint64_t removals = memory.removals();
  if (found->memory != &memory || found->removals != removals) *found = {&memory, removals, {}};
  return found->ranges.data();
}

}  // namespace lynxpp::device::cpu
