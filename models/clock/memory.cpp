#include "models/clock/memory.h"

#include <algorithm>
#include <optional>

namespace lynxpp::models::clock {
namespace {

constexpr std::uint64_t hashed_bytes = 256;
constexpr std::uint32_t sector_bytes = 32;
/// Sampling rate: one in this number of sets. An L1 has few.
constexpr std::uint32_t l1_sampling = 4;
constexpr std::uint32_t l2_sampling = 16;

std::optional<SampledLocality> locality_of(const std::vector<cache::SampledReuse>& caches) {
  if (caches.empty()) return std::nullopt;
  SampledLocality locality;
  for (const cache::SampledReuse& each : caches) {
    locality.sets += each.sets();
    locality.sampled_sets += each.sampled_sets();
    locality.counts += each.counts();
  }
  return locality;
}

std::uint64_t mixed(std::uint64_t value) {
  value ^= value >> 33;
  value *= 0xff51'afd7'ed55'8ccd;
  value ^= value >> 33;
  value *= 0xc4ce'b9fe'1a85'ec53;
  return value ^ value >> 33;
}

}  // namespace

std::uint32_t channel_of(const GlobalMemory& memory, std::uint64_t address) {
  if (memory.channel_width == 0)
    return static_cast<std::uint32_t>(mixed(address / hashed_bytes) % memory.channels);
  return static_cast<std::uint32_t>(address / memory.channel_width % memory.channels);
}

Memory::Memory(const Machine& machine, CachesBefore caches)
    : machine_(machine),
      timing_(*machine.timing),
      caches_before_(caches),
      memory_cycle_(static_cast<double>(timing_.core_mhz) / timing_.memory_mhz) {
  if (timing_.l1) l1_.assign(timing_.multiprocessors, cache::Cache(*timing_.l1));
  if (timing_.l1) l1_reuse_.assign(timing_.multiprocessors, cache::SampledReuse(*timing_.l1, l1_sampling));
  if (timing_.l2) l2_.emplace_back(*timing_.l2);
  if (timing_.l2) l2_reuse_.emplace_back(*timing_.l2, l2_sampling);
  begin_kernel();
}

void Memory::begin_kernel() {
  free_at_.assign(machine_.global.channels, 0);
  slice_free_at_.assign(machine_.global.channels, 0);
  channels_.assign(machine_.global.channels, {});
  for (cache::Cache& each : l1_) each.clear();
  if (caches_before_ == CachesBefore::emptied) {
    for (cache::Cache& each : l2_) each.clear();
  }
  for (cache::SampledReuse& each : l1_reuse_) each.clear();
  for (cache::SampledReuse& each : l2_reuse_) each.clear();
  l1_counts_ = l2_counts_ = {};
}

/// Returns the time at which the channel has served the transfer.
double Memory::serve(std::uint32_t channel, double time, std::uint32_t bytes, double more_cycles) {
  const MemoryTiming& memory = timing_.memory;
  const double service =
      (memory.overhead + static_cast<double>(bytes) / memory.bytes_per_cycle + more_cycles) * memory_cycle_;
  free_at_[channel] = std::max(free_at_[channel], time) + service;
  ++channels_[channel].transactions;
  channels_[channel].bytes += bytes;
  channels_[channel].busy_cycles += service;
  return free_at_[channel];
}

double Memory::send(std::uint32_t sm, double time, Step::Access access, const Step& transaction) {
  if (!l1_.empty() && access == Step::Access::load) {
    const bool hit = l1_[sm].access(transaction.value, false).hit;
    l1_reuse_[sm].access(transaction.value);
    ++(hit ? l1_counts_.hits : l1_counts_.misses);
    if (hit) return time + timing_.l1->latency;
  }
  if (!l2_.empty()) return through_l2(time, access, transaction);
  const std::uint32_t channel = channel_of(machine_.global, transaction.value);
  if (access != Step::Access::atomic)
    return serve(channel, time, transaction.count, 0) + timing_.memory.latency;
  // Read, then written for each lane in turn.
  serve(channel, time, transaction.count, 0);
  return serve(channel, time, transaction.count,
               static_cast<double>(timing_.memory.atomic) * (transaction.lanes - 1)) +
         timing_.memory.latency;
}

double Memory::through_l2(double time, Step::Access access, const Step& transaction) {
  const std::uint32_t channel = channel_of(machine_.global, transaction.value);
  const bool is_atomic = access == Step::Access::atomic;
  const std::uint32_t sectors = (transaction.count + sector_bytes - 1) / sector_bytes;
  const double lanes =
      is_atomic ? static_cast<double>(timing_.memory.atomic) * (transaction.lanes - 1) * memory_cycle_ : 0;
  double& slice = slice_free_at_[channel];
  slice = std::max(slice, time) + sectors * timing_.l2->occupancy + lanes;
  const cache::Cache::Outcome outcome = l2_.front().access(transaction.value, access != Step::Access::load);
  // A store waits for no fetch, whatever is cached: profilers also count it as a hit.
  const bool is_store = access == Step::Access::store;
  const bool hits = outcome.hit || is_store;
  l2_reuse_.front().access(transaction.value, is_store);
  ++(hits ? l2_counts_.hits : l2_counts_.misses);
  for (std::uint32_t left = outcome.written_back, i = 0; left != 0; left >>= 1, ++i) {
    if ((left & 1) == 0) continue;
    const std::uint64_t address = outcome.victim + std::uint64_t{i} * timing_.l2->sector;
    serve(channel_of(machine_.global, address), slice, timing_.l2->sector, 0);
  }
  if (hits) return slice + timing_.l2->latency;
  return serve(channel, slice, transaction.count, 0) + timing_.memory.latency;
}

void Memory::report(KernelTime& time) const {
  time.channels = channels_;
  if (!l1_.empty()) time.l1 = l1_counts_;
  if (!l2_.empty()) time.l2 = l2_counts_;
  time.l1_locality = locality_of(l1_reuse_);
  time.l2_locality = locality_of(l2_reuse_);
}

double Memory::drained() const {
  return std::max(*std::ranges::max_element(free_at_), *std::ranges::max_element(slice_free_at_));
}

}  // namespace lynxpp::models::clock
