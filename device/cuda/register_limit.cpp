#include "device/cuda/register_limit.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace lynxpp::device::cuda {
namespace {

constexpr std::uint32_t registers_of_sm = 65536;
constexpr std::uint32_t lanes = 32;
constexpr std::uint32_t unit = 8;              // allocation granularity, registers per thread
constexpr std::uint32_t most_registers = 248;  // per thread, a multiple of `unit`
// Bytes per thread; with more, half of the measured kernels were slower.
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

std::string with_register_limit(const std::string& ptx, const DirectiveRange& directives,
                                std::uint32_t registers) {
  constexpr std::string_view directive = ".maxnreg";
  if (directives.begin >= directives.end || directives.end > ptx.size()) return ptx;
  std::string limited = ptx;
  const std::size_t found = ptx.find(directive, directives.begin);
  if (found >= directives.end) {
    const std::string text = "\n" + std::string(directive) + " " + std::to_string(registers) + "\n";
    return limited.insert(directives.end, text);
  }
  const std::size_t begin = ptx.find_first_not_of(" \t\r\n", found + directive.size());
  if (begin >= directives.end) return ptx;
  std::uint32_t given = 0;
  const auto [end, error] = std::from_chars(ptx.data() + begin, ptx.data() + directives.end, given);
  if (error != std::errc{} || given <= registers) return ptx;
  return limited.replace(begin, static_cast<std::size_t>(end - ptx.data()) - begin,
                         std::to_string(registers));
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

std::uint32_t raised_register_limit(const KernelResources& filled, const KernelResources& variant,
                                    std::uint32_t kept_registers) {
  if (kept_registers == 0 || filled.warps_per_sm == 0 || variant.warps_per_sm <= filled.warps_per_sm)
    return 0;
  const std::uint32_t wanted = (filled.registers + kept_registers + unit - 1) / unit * unit;
  const std::uint32_t room = registers_of_sm / (filled.warps_per_sm * lanes) / unit * unit;
  const std::uint32_t limit = std::min({wanted, room, most_registers});
  return limit > variant.registers ? limit : 0;
}

bool pays_off(const KernelResources& limited, const KernelResources& variant) {
  return limited.warps_per_sm > variant.warps_per_sm && limited.local_bytes <= variant.local_bytes + spilled;
}

}  // namespace lynxpp::device::cuda
