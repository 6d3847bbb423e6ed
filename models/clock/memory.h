// Models caches and channels: computes when a transaction completes. Equations: docs/design/modelled-time.md.
#pragma once

#include <cstdint>
#include <vector>

#include "models/cache/cache.h"
#include "models/clock/kernel_time.h"
#include "models/clock/steps.h"
#include "models/machine.h"

namespace lynxpp::models::clock {

/// Returns the channel of an address. With hashed addresses it changes every 256 bytes.
std::uint32_t channel_of(const GlobalMemory& memory, std::uint64_t address);

/// Contents of the L2 when a kernel begins.
enum class CachesBefore : std::uint8_t {
  kept,    ///< as left by previous kernels
  emptied  ///< empty, as under profilers; dirty sectors have been written back
};

/// Precondition of all members: the machine has a timing and outlives this object.
class Memory {
 public:
  Memory(const Machine& machine, CachesBefore caches);

  /// Restarts time at 0 and empties the L1s; empties the L2 unless its contents are kept.
  void begin_kernel();

  /// Returns the completion time of a transaction that multiprocessor `sm` sends at `time`, in cycles. Calls
  /// must be in order of time.
  double send(std::uint32_t sm, double time, Step::Access access, const Step& transaction);

  /// Stores the counts since begin_kernel() in `time`.
  void report(KernelTime& time) const;

  /// Returns the end of the last transfer, including those that nothing waits for.
  double drained() const;

 private:
  double serve(std::uint32_t channel, double time, std::uint32_t bytes, double more_cycles);
  double through_l2(double time, Step::Access access, const Step& transaction);

  const Machine& machine_;
  const Timing& timing_;
  const CachesBefore caches_before_;
  const double memory_cycle_;  ///< in multiprocessor cycles
  std::vector<double> free_at_;
  std::vector<double> slice_free_at_;
  std::vector<ChannelCounts> channels_;
  std::vector<cache::Cache> l1_;
  std::vector<cache::Cache> l2_;  ///< at most one element
  std::vector<cache::SampledReuse> l1_reuse_, l2_reuse_;
  CacheCounts l1_counts_, l2_counts_;
};

}  // namespace lynxpp::models::clock
