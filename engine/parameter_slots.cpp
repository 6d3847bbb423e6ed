#include "engine/parameter_slots.h"

#include <algorithm>
#include <cstdint>

namespace lynxpp::engine {

std::vector<device::ParameterSlot> parameter_slots(const ptx::Function& kernel) {
  std::vector<device::ParameterSlot> slots;
  std::uint32_t offset = 0;
  for (const ptx::Variable& parameter : kernel.parameters) {
    const std::uint32_t alignment = std::max(1u, parameter.alignment);
    const auto bytes = static_cast<std::uint32_t>(parameter.size_bytes());
    offset = (offset + alignment - 1) / alignment * alignment;
    slots.push_back({offset, bytes});
    offset += bytes;
  }
  return slots;
}

}  // namespace lynxpp::engine
