#include "device/cuda/register_limit.h"

#include <algorithm>

namespace lynxpp::device::cuda {
namespace {

constexpr std::uint32_t registers_of_sm = 65536;
constexpr std::uint32_t lanes = 32;
constexpr std::uint32_t unit = 8;              // registers are given to a thread in such steps
constexpr std::uint32_t most_registers = 248;  // of a thread, in whole steps
// bytes of a thread: more were slower in half of the kernels that were measured
constexpr std::uint32_t spilled = 16;

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

KernelResources filled_by(std::uint64_t blocks, std::uint32_t multiprocessors,
                          const KernelResources& original) {
  KernelResources filled = original;
  if (multiprocessors == 0 || original.blocks_per_sm == 0) return filled;
  const std::uint64_t most = (blocks + multiprocessors - 1) / multiprocessors;
  if (most >= original.blocks_per_sm) return filled;
  filled.blocks_per_sm = static_cast<std::uint32_t>(most);
  filled.warps_per_sm = original.warps_per_sm / original.blocks_per_sm * filled.blocks_per_sm;
  return filled;
}

std::uint32_t roomier_limit(const KernelResources& filled, const KernelResources& variant,
                            std::uint32_t kept_registers) {
  if (kept_registers == 0 || filled.warps_per_sm == 0 || variant.warps_per_sm <= filled.warps_per_sm)
    return 0;
  const std::uint32_t wanted = (filled.registers + kept_registers + unit - 1) / unit * unit;
  const std::uint32_t room = registers_of_sm / (filled.warps_per_sm * lanes) / unit * unit;
  const std::uint32_t limit = std::min({wanted, room, most_registers});
  return limit > variant.registers ? limit : 0;
}

bool is_worth_its_limit(const KernelResources& limited, const KernelResources& variant) {
  return limited.warps_per_sm > variant.warps_per_sm && limited.local_bytes <= variant.local_bytes + spilled;
}

}  // namespace lynxpp::device::cuda
