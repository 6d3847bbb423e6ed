#include "device/cuda/residency.h"

#include <cuda.h>

#include <algorithm>

namespace lynxpp::device::cuda {

bool is_cooperative(const Launch& launch) {
  const auto* const given = static_cast<const CUlaunchAttribute*>(launch.attributes);
  return launch.cooperative ||
         std::any_of(given, given + launch.attribute_count, [](const CUlaunchAttribute& each) {
           return each.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && each.value.cooperative != 0;
         });
}

std::uint32_t residency_limit(const Launch& launch, std::uint32_t multiprocessors) {
  constexpr std::uint64_t registers_of_sm = 65536;
  constexpr std::uint64_t lanes = 32;
  constexpr std::uint64_t unit = 8;
  constexpr std::uint64_t fewest = 16;  // minimum that ptxas accepts
  const std::uint64_t blocks = (launch.blocks() + multiprocessors - 1) / std::max(multiprocessors, 1u);
  const std::uint64_t warps = blocks * ((launch.threads_per_block() + lanes - 1) / lanes);
  if (warps == 0) return 0;
  const std::uint64_t limit = std::min(registers_of_sm / (warps * lanes) / unit * unit, std::uint64_t{248});
  return limit >= fewest ? static_cast<std::uint32_t>(limit) : 0;
}

}  // namespace lynxpp::device::cuda
