#include <algorithm>

#include "models/machine.h"

namespace lynxpp::models {
namespace {

std::uint32_t round_up(std::uint32_t value, std::uint32_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

Occupancy occupancy(const Machine& machine, const BlockNeeds& needs) {
  const Residency& limits = machine.residency;
  const std::uint32_t warps = round_up(needs.threads, machine.warp_size) / machine.warp_size;
  if (warps == 0 || needs.threads > limits.block_threads) return {};
  std::uint32_t blocks = std::min({limits.blocks, limits.warps / warps, limits.threads / needs.threads});
  if (needs.registers != 0) {
    const Registers& registers = machine.registers;
    const std::uint32_t of_warp = needs.registers * machine.warp_size;
    if (registers.of_block) {
      blocks = std::min(
          blocks, registers.count / round_up(of_warp * round_up(warps, registers.warp_unit), registers.unit));
    } else {
      const std::uint32_t of_partition =
          registers.count / registers.partitions / round_up(of_warp, registers.unit);
      blocks = std::min(blocks, of_partition * registers.partitions / warps);
    }
  }
  const std::uint32_t shared =
      round_up(needs.shared_bytes + machine.shared.of_each_block, machine.shared.unit);
  if (shared != 0) blocks = std::min(blocks, machine.shared.bytes / shared);
  return {blocks, static_cast<double>(blocks * warps) / limits.warps};
}

}  // namespace lynxpp::models
