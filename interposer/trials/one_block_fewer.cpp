#include "interposer/trials/one_block_fewer.h"

namespace lynxpp::interposer {

std::optional<std::uint32_t> blocks_per_sm(device::Device& device, const device::Launch& launch,
                                           const device::Variant* variant) {
  if (const std::optional<device::KernelResources> resources = device.resources(launch, variant))
    return resources->blocks_per_sm;
  return device.resident_blocks(launch, variant);
}

Result<std::uint32_t> shared_bytes_for_one_block_fewer(device::Device& device, const device::Launch& launch,
                                                       bool may_wait) {
  const std::optional<device::MultiprocessorLimits>& limits = device.info().limits;
  const std::optional<std::uint32_t> blocks = blocks_per_sm(device, launch, nullptr);
  if (!limits || !blocks) return failure("the device's occupancy is unknown");
  if (*blocks < 2) return failure("a multiprocessor holds one block of this launch");
  const std::uint32_t fewer = *blocks - 1;
  if (may_wait && launch.blocks() > std::uint64_t{fewer} * device.info().multiprocessors)
    return failure("its blocks may wait for each other");
  // The least amount with which `blocks` blocks do not fit.
  const std::uint32_t unit = limits->shared_unit;
  const std::uint32_t each = limits->shared_bytes / *blocks / unit * unit + unit;
  const std::uint32_t own = device.static_shared_bytes(launch);
  const std::uint32_t reserved = limits->reserved_shared_bytes;
  if (each > limits->shared_bytes || each < own + reserved || each - reserved > limits->block_shared_bytes)
    return failure("no block can have so much shared memory that one block fewer fits");
  return each - own - reserved;
}

}  // namespace lynxpp::interposer
