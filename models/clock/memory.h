// Caches and channels: when a transaction is over. Equations: docs/design/modelled-time.md.
#pragma once

#include <cstdint>
#include <vector>

#include "models/cache/cache.h"
#include "models/clock/kernel_time.h"
#include "models/clock/steps.h"
#include "models/machine.h"

namespace lynxpp::models::clock {

/// The channel that an address lies in. Hashed addresses change it every 256 bytes.
std::uint32_t channel_of(const GlobalMemory& memory, std::uint64_t address);

/// What the L2 holds when a kernel begins.
enum class CachesBefore : std::uint8_t {
  kept,    ///< what the kernels before have left there
  emptied  ///< nothing, as profilers have it; what was written is in memory by then
};

/// Precondition of everything: the machine has a timing, and lives as long as this.
class Memory {
 public:
  Memory(const Machine& machine, CachesBefore caches);

  /// Times begin at 0 again; the L1s are empty, the L2 holds what it held or is empty, too.
  void begin_kernel();

  /// When a transaction is over that multiprocessor `sm` sends at `time`, in cycles. To be called in the
  /// order of the times.
  double send(std::uint32_t sm, double time, Step::Access access, const Step& transaction);

  /// Into `time` what was counted since begin_kernel().
  void report(KernelTime& time) const;

  /// When the last transfer is over, those included that nobody waits for.
  double drained() const;

 private:
  double serve(std::uint32_t channel, double time, std::uint32_t bytes, double more_cycles);
  double through_l2(double time, Step::Access access, const Step& transaction);

  const Machine& machine_;
  const Timing& timing_;
  const CachesBefore caches_before_;
  const double memory_cycle_;  ///< in cycles of a multiprocessor
  std::vector<double> free_at_;
  std::vector<double> slice_free_at_;
  std::vector<ChannelCounts> channels_;
  std::vector<cache::Cache> l1_;
  std::vector<cache::Cache> l2_;  ///< one, or none
  std::vector<cache::SampledReuse> l1_reuse_, l2_reuse_;
  CacheCounts l1_counts_, l2_counts_;
};

}  // namespace lynxpp::models::clock
