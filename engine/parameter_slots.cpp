#include "engine/parameter_slots.h"

#include <cstdint>

namespace lynxpp::engine {

std::vector<device::ParameterSlot> parameter_slots(const ptx::Function& kernel) {
  std::vector<device::ParameterSlot> slots;
  const std::vector<std::uint64_t> offsets = kernel.parameter_offsets();
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i)
    slots.push_back({static_cast<std::uint32_t>(offsets[i]),
                     static_cast<std::uint32_t>(kernel.parameters[i].size_bytes())});
  return slots;
}

}  // namespace lynxpp::engine
