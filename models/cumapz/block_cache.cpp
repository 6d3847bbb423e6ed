#include "models/cumapz/block_cache.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace lynxpp::models::cumapz {
namespace {

constexpr std::int64_t line = 128, sector = 32;

std::size_t sectors_of(const Machine& machine, const Occupancy& occupancy, std::uint32_t shared_bytes) {
  if (!machine.timing || !machine.timing->l1) return 0;
  const std::int64_t taken = std::int64_t{shared_bytes} * occupancy.blocks;
  const std::int64_t left = std::min<std::int64_t>(machine.timing->l1->bytes, machine.shared.bytes - taken);
  return static_cast<std::size_t>(std::max<std::int64_t>(left / sector / occupancy.blocks, 0));
}

/// Returns the distinct indices of the pieces of `size` bytes that contain the elements.
std::vector<std::int64_t> pieces(std::span<const std::int64_t> addresses, std::uint32_t bytes,
                                 std::int64_t size) {
  const int shift = std::countr_zero(static_cast<std::uint64_t>(size));
  std::vector<std::int64_t> result;
  for (const std::int64_t address : addresses) {
    for (std::int64_t at = address >> shift; at <= (address + bytes - 1) >> shift; ++at) result.push_back(at);
  }
  std::ranges::sort(result);
  result.erase(std::ranges::unique(result).begin(), result.end());
  return result;
}

void extend(Footprint& footprint, std::int64_t at) {
  const bool is_empty = footprint.least == footprint.end;
  footprint.least = is_empty ? at : std::min(footprint.least, at);
  footprint.end = is_empty ? at + sector : std::max(footprint.end, at + sector);
}

}  // namespace

BlockCache::BlockCache(const Machine& machine, const Occupancy& occupancy, std::uint32_t shared_bytes)
    : sectors_(sectors_of(machine, occupancy, shared_bytes)) {}

void BlockCache::load(GlobalTraffic& traffic, Footprint& footprint, std::uint32_t array,
                      std::span<const std::int64_t> addresses, std::uint32_t element_bytes,
                      std::int64_t weight) {
  traffic.lines += weight * static_cast<std::int64_t>(pieces(addresses, element_bytes, line).size());
  for (const std::int64_t each : pieces(addresses, element_bytes, sector)) {
    extend(footprint, each * sector);
    if (sectors_.use(array, each)) continue;
    traffic.sectors += weight;
    footprint.sectors += weight;
  }
}

void BlockCache::move_sector(Footprint& footprint, std::int64_t address, std::int64_t weight) {
  extend(footprint, address);
  footprint.sectors += weight;
}

void BlockCache::store(GlobalTraffic& traffic, Footprint& footprint, std::span<const std::int64_t> addresses,
                       std::uint32_t element_bytes, std::int64_t weight) {
  traffic.lines += weight * static_cast<std::int64_t>(pieces(addresses, element_bytes, line).size());
  const std::vector<std::int64_t> stored = pieces(addresses, element_bytes, sector);
  const auto sectors = static_cast<std::int64_t>(stored.size());
  const auto elements = static_cast<std::int64_t>(pieces(addresses, 1, 1).size());
  traffic.sectors += weight * sectors;
  footprint.sectors += weight * sectors;
  if (elements * element_bytes < sectors * sector) traffic.partial += weight * sectors;
  for (const std::int64_t each : stored) extend(footprint, each * sector);
}

}  // namespace lynxpp::models::cumapz
