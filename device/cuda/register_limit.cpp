#include "device/cuda/register_limit.h"

namespace lynxpp::device::cuda {
namespace {

constexpr std::uint32_t registers_of_sm = 65536;
constexpr std::uint32_t lanes = 32;
constexpr std::uint32_t unit = 8;  // registers are given to a thread in such steps
constexpr std::uint32_t spilled =
    16;  // bytes of a thread: more were slower in half of the kernels that were measured

}  // namespace

std::vector<std::uint32_t> register_limits(const KernelResources& original, const KernelResources& variant) {
  if (variant.warps_per_sm == 0 || variant.warps_per_sm >= original.warps_per_sm) return {};
  const std::uint32_t first = registers_of_sm / (original.warps_per_sm * lanes) / unit * unit;
  std::vector<std::uint32_t> limits;
  for (const std::uint32_t limit : {first, first + unit}) {
    if (limit < variant.registers) limits.push_back(limit);
  }
  return limits;
}

bool is_worth_its_limit(const KernelResources& limited, const KernelResources& variant) {
  return limited.warps_per_sm > variant.warps_per_sm && limited.local_bytes <= variant.local_bytes + spilled;
}

}  // namespace lynxpp::device::cuda
